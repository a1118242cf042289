"""Calls from Rust through Python and C to Rust and back."""

import ctypes
import pathlib
import shutil
import subprocess
import traceback

import numpy as np
import pytest

import hammock

INCLUDE = pathlib.Path(__file__).parents[2] / "runtime" / "include"

THROUGH = """
#include "hammock.h"

/* A function object, as tvm-ffi lays it out. */
typedef struct {
    uint64_t reference_counts;
    int32_t type_index;
    uint32_t reserved;
    void *deleter;
    hammock_callback call;
} function;

/* Calls its first argument with the others. */
int32_t through(void *handle, const hammock_any *args, int32_t count, hammock_any *result) {
    const function *callee = args[0].as.pointer;
    (void)handle;
    if (args[0].type_index != HAMMOCK_FUNCTION)
        return -1;
    return callee->call((void *)callee, args + 1, count - 1, result);
}

/* Doubles the elements of a tensor that is only lent for the call, with every other element in between. */
int32_t lend(void *handle, const hammock_any *args, int32_t count, hammock_any *result) {
    float data[] = {1, 0, 2, 0, 3, 0};
    int64_t shape[] = {3}, strides[] = {2};
    hammock_tensor tensor = {data, {HAMMOCK_DEVICE_CPU, 0}, 1, {HAMMOCK_CODE_FLOAT, 32, 1}, shape, strides, 0};
    hammock_any lent = {HAMMOCK_TENSOR_VIEW, 0, {0}};
    const function *callee = args[0].as.pointer;
    (void)handle, (void)count;
    lent.as.tensor = &tensor;
    if (callee->call((void *)callee, &lent, 1, result))
        return -1;
    result->type_index = HAMMOCK_FLOAT;
    result->as.number = data[0] + 10 * data[2] + 100 * data[4] + 1000 * (data[1] + data[3] + data[5]);
    return 0;
}
"""

MODEL = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def outer(x: R.Tensor((2,), "float32"), inner: R.Object) -> R.Object:
        y = R.call_packed("test.languages.python", inner, x, ty_args=(R.Object,))
        return y

    @R.function(pure=False)
    def inner(x: R.Tensor((2,), "float32")) -> R.Object:
        z = R.call_packed("test.languages.last", x, ty_args=(R.Object,))
        return z
"""


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """The functions in C."""
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("c")
    (folder / "through.c").write_text(THROUGH)
    command = [
        compiler,
        "-std=c99",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        "-I",
        INCLUDE,
        "through.c",
        "-o",
        "through.so",
    ]
    subprocess.run(command, cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "through.so"))

    def function(name):
        return hammock.Function.from_address(ctypes.cast(library[name], ctypes.c_void_p).value, owner=library)

    return function


@pytest.fixture
def model(c):
    """A model whose `outer` calls Python, which calls C, which calls `inner`, which calls Python."""
    through = c("through")
    last = []

    def python(inner, x):
        return through(inner, x)

    hammock.register_global_func("test.languages.python", python, override=True)
    hammock.register_global_func("test.languages.last", lambda x: last[0](x), override=True)
    model = hammock.compile(MODEL)
    yield model, last
    hammock.remove_global_func("test.languages.python")
    hammock.remove_global_func("test.languages.last")


X = np.array([1, 2], "float32")


def test_values_come_back(model):
    model, last = model
    last.append(lambda x: x * 3)
    np.testing.assert_array_equal(model.outer(X, model.inner), X * 3)


class Fault(Exception):
    pass


def test_exceptions_come_back_with_all_lines(model):
    model, last = model
    thrown = Fault("the last one")

    def fail(x):
        raise thrown

    last.append(fail)
    with pytest.raises(Fault) as caught:
        model.outer(X, model.inner)
    assert caught.value is thrown
    shown = "".join(traceback.format_exception(caught.value))
    names = [frame.name for frame in traceback.extract_tb(thrown.__traceback__)]
    assert names[-1] == "fail" and "python" in names
    inner, outer = (
        next(at for at, note in enumerate(thrown.__notes__) if f"in {name}" in note) for name in ("inner", "outer")
    )
    assert inner < outer
    assert (
        'R.call_packed("test.languages.last", x' in shown and 'R.call_packed("test.languages.python", inner, x' in shown
    )


def test_exceptions_are_caught_in_the_middle(model):
    model, last = model

    def fail(x):
        raise Fault("caught")

    last.append(fail)
    through = hammock.get_global_func("test.languages.python")

    def python(inner, x):
        try:
            return through(inner, x)
        except Fault as error:
            return f"caught {error}"

    hammock.register_global_func("test.languages.python", python, override=True)
    assert hammock.compile(MODEL).outer(X, model.inner) == "caught caught"


def test_functions_in_c_fail_without_an_error(c):
    with pytest.raises(hammock.InternalError, match="without saying why"):
        c("through")(7)
    with pytest.raises(ValueError, match="address is 0"):
        hammock.Function.from_address(0)


def test_tensors_are_lent_to_callbacks(c):
    kept = []

    def double(x):
        assert x.shape == (3,)
        kept.append(x)
        x *= 2

    assert c("lend")(double) == 2 + 10 * 4 + 100 * 6
    kept[0][:] = 9
    assert c("lend")(lambda x: None) == 1 + 10 * 2 + 100 * 3
    np.testing.assert_array_equal(kept[0], [9, 9, 9])
