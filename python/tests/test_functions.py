"""Global functions and callbacks: Python callables that models call."""

import gc
import threading
import traceback

import numpy as np
import pytest

import hammock

SCALE = """
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    y = R.call_dps_packed("test.functions.scale", (x,), out_sinfo=R.Tensor((3,), "float32"))
    return y
"""

APPLY = """
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32"), f: R.Object) -> R.Object:
    y = R.call_packed("test.functions.apply", f, x, ty_args=(R.Object,))
    return y
"""

ROWS = """
@I.ir_module
class Module:
    @T.prim_func
    def rows(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
        for i in T.parallel(64):
            T.evaluate(T.call_packed("test.functions.row", i, y))

    @R.function(pure=False)
    def main(x: R.Tensor((64,), "float32")) -> R.Tensor((64,), "float32"):
        cls = Module
        y = R.call_tir(cls.rows, (x,), out_sinfo=R.Tensor((64,), "float32"))
        return y
"""

X = np.array([1, 2, 3], "float32")


@pytest.fixture
def register():
    """Registers global functions, and removes them after the test."""
    names = []

    def register(name, f, **options):
        hammock.register_global_func(name, f, **options)
        names.append(name)

    yield register
    for name in names:
        hammock.remove_global_func(name)


@pytest.fixture
def apply(register):
    """A model whose function calls a function that it receives."""
    register("test.functions.apply", lambda f, x: f(x))
    return hammock.compile(APPLY)


def test_a_callback_writes_its_output(register):
    @hammock.register_global_func("test.functions.scale", override=True)
    def scale(x, out):
        assert isinstance(x, np.ndarray) and x.dtype == "float32"
        out[:] = 2 * x

    model = hammock.compile(SCALE)
    np.testing.assert_array_equal(model(X), 2 * X)
    # A model keeps the function that it was loaded with.
    hammock.register_global_func("test.functions.scale", lambda x, out: None, override=True)
    np.testing.assert_array_equal(model(X), 2 * X)
    hammock.remove_global_func("test.functions.scale")
    with pytest.raises(ValueError, match="nobody registered it"):
        hammock.compile(SCALE)(X)


def test_arrays_share_the_memory_of_tensors():
    seen = []
    f = hammock.convert(lambda x: seen.append(x))
    x = X.copy()
    assert f(x) is None
    seen[0][0] = 9
    assert x[0] == 9
    fixed = X.copy()
    fixed.flags.writeable = False
    f(fixed)
    assert not seen[1].flags.writeable
    tensors = hammock.convert(lambda x: seen.append(x), receives="tensor")
    tensors(x)
    assert isinstance(seen[2], hammock.Tensor) and seen[2].numpy()[0] == 9


def test_arrays_that_callbacks_keep_stay_valid(register):
    kept = []

    def scale(x, out):
        out[:] = 2 * x
        kept.extend([x, out])

    register("test.functions.scale", scale)
    model = hammock.compile(SCALE)
    result = model(X)
    del model
    gc.collect()
    assert kept[0].sum() == 6 and kept[1].sum() == 12 and result.sum() == 12


def test_values_of_all_kinds_cross():
    same = hammock.convert(lambda *values: values)
    assert same(1, 2.5, True, None, "text", b"bytes", (1, ("a", 2))) == (
        1,
        2.5,
        True,
        None,
        "text",
        b"bytes",
        (1, ("a", 2)),
    )
    assert same() == ()
    (f,) = same(hammock.convert(lambda x: x + 1))
    assert f(41) == 42
    assert hammock.convert(7) == 7 and hammock.convert([1, 2]) == (1, 2)
    assert isinstance(hammock.convert(X), hammock.Tensor)


def test_names_are_registered_once(register):
    register("test.functions.one", lambda: 1)
    assert hammock.get_global_func("test.functions.one")() == 1
    assert "test.functions.one" in hammock.list_global_func_names()
    with pytest.raises(ValueError, match="already exists"):
        hammock.register_global_func("test.functions.one", lambda: 2)
    hammock.register_global_func("test.functions.one", lambda: 2, override=True)
    assert hammock.get_global_func("test.functions.one")() == 2
    with pytest.raises(ValueError, match="did you mean `test.functions.one`"):
        hammock.get_global_func("test.functions.onne")
    assert hammock.get_global_func("test.functions.none", allow_missing=True) is None
    with pytest.raises(KeyError, match="test.functions.none"):
        hammock.remove_global_func("test.functions.none")
    with pytest.raises(ValueError, match="builtin"):
        hammock.register_global_func("vm.builtin.copy", lambda: 1, override=True)
    for bad in [7, "text", None]:
        with pytest.raises(TypeError):
            hammock._hammock._register_function("test.functions.bad", bad, True, "numpy")
    with pytest.raises(TypeError, match="string"):
        hammock.register_global_func(7, print)
    assert hammock.get_global_func("vm.builtin.copy")(7) == 7


def test_a_decorator_needs_no_name():
    @hammock.register_global_func
    def test_functions_named():
        return "named"

    assert test_functions_named() == "named"
    assert hammock.get_global_func("test_functions_named")() == "named"
    hammock.remove_global_func("test_functions_named")


class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(first)
        self.second = second


def test_exceptions_come_back_as_they_are(apply):
    thrown = Odd("first", [2])

    def fail(x):
        raise thrown

    with pytest.raises(Odd) as caught:
        apply(X, fail)
    assert caught.value is thrown and caught.value.second == [2]
    shown = "".join(traceback.format_exception(caught.value))
    assert "in main at <text>:4" in shown and 'R.call_packed("test.functions.apply", f, x' in shown
    assert "in fail" in shown


@pytest.mark.parametrize(
    "kind", [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, MemoryError, RecursionError]
)
def test_exceptions_of_every_kind_come_back(apply, kind):
    thrown = kind("why")

    def fail(x):
        raise thrown

    with pytest.raises(kind) as caught:
        apply(X, fail)
    assert caught.value is thrown
    assert apply(X, lambda x: 1) == 1


def test_exceptions_whose_text_fails_come_back(apply):
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no text")

    def fail(x):
        raise Mute

    with pytest.raises(Mute):
        apply(X, fail)


def test_results_that_no_value_has_are_refused(apply):
    for bad in [object(), {1: 2}, {3}, 1 << 70, np.array([object()]), [object()], 1j]:
        with pytest.raises((TypeError, OverflowError, ValueError)) as caught:
            apply(X, lambda x: bad)
        assert any("result of the callback" in note for note in caught.value.__notes__)
    with pytest.raises(TypeError):
        apply(X, lambda: 1)


def test_wrong_results_are_errors_of_the_model(register):
    register("test.functions.shape", lambda x: "no shape")
    model = hammock.compile("""
@R.function(pure=False)
def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
    s = R.call_packed("test.functions.shape", x, ty_args=(R.Shape(ndim=2),))
    y = R.reshape(x, s)
    return y
""")
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        model(np.zeros((2, 2), "float32"))


def test_callbacks_call_models(apply):
    def count_down(x):
        return apply(x - 1, count_down) if x[0] > 0 else x

    np.testing.assert_array_equal(apply(X + 9, count_down), X - 1)


def test_endless_recursion_is_an_error(apply):
    depth = 0

    def again(x):
        nonlocal depth
        depth += 1
        return apply(x, again)

    with pytest.raises(RecursionError):
        apply(X, again)
    assert depth > 50
    assert apply(X, lambda x: 1) == 1


def test_endless_recursion_on_a_thread_is_an_error(apply):
    caught = []

    def again(x):
        return apply(x, again)

    def run():
        try:
            apply(X, again)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert isinstance(caught[0], RecursionError)


def test_endless_recursion_without_a_model_is_an_error():
    again = hammock.convert(lambda: again())
    with pytest.raises(RecursionError):
        again()


def test_threads_call_callbacks_at_once(apply):
    barrier = threading.Barrier(4, timeout=20)
    results = []

    def run(value):
        def meet(x):
            barrier.wait()
            return x * value

        results.append(apply(X, meet)[0])

    threads = [threading.Thread(target=run, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3]


def test_functions_of_models_are_values(apply):
    double = hammock.compile("""
@R.function
def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    y = R.add(x, x)
    return y
""")
    np.testing.assert_array_equal(apply(X, double["main"]), 2 * X)
    np.testing.assert_array_equal(apply(X, double), 2 * X)
    np.testing.assert_array_equal(apply(X, hammock.convert(double.main)), 2 * X)
    assert isinstance(hammock.convert(double.main)(X), np.ndarray)
    assert isinstance(hammock.convert(double.main, receives="tensor")(X), hammock.Tensor)


def test_kernels_call_functions_on_threads_of_the_pool(register):
    """Buffers of kernels are lent for the call only: what is kept is a copy, and what is written reaches the kernel."""
    seen, kept = set(), []
    met = threading.Barrier(2, timeout=20)

    def row(index, x):
        seen.add(threading.get_ident())
        kept.append(x)
        if index in (0, 63):
            met.wait()
        x[index] = index * 10

    register("test.functions.row", row)
    before = hammock.threads()
    hammock.set_threads(2)
    try:
        result = hammock.compile(ROWS)(np.ones(64, "float32"))
    finally:
        hammock.set_threads(before)
    np.testing.assert_array_equal(result, np.arange(64) * 10)
    assert len(seen) == 2 and len(kept) == 64
    kept[0][:] = 7
    np.testing.assert_array_equal(result, np.arange(64) * 10)


def test_exceptions_on_threads_of_the_pool_come_back(register):
    thrown = Odd("pool", 1)

    def row(index, x):
        if index == 63:
            raise thrown

    register("test.functions.row", row)
    with pytest.raises(Odd) as caught:
        hammock.compile(ROWS)(np.ones(64, "float32"))
    assert caught.value is thrown and any("in main" in note for note in thrown.__notes__)


def test_a_function_is_not_pickled():
    import pickle

    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(hammock.convert(print))


def test_arguments_that_no_value_has_are_refused():
    f = hammock.convert(lambda *args: len(args))
    with pytest.raises(TypeError, match="object cannot be a value") as caught:
        f(1, object())
    assert "argument 1 of the function" in caught.value.__notes__
