"""Functions that models return: closures, functions of the model, callables that it was given."""

import gc
import threading

import numpy as np
import pytest
from models import compiled

import hammock

X, Y = np.array([1, 2], "float32"), np.array([3, 4], "float32")

BODY = """\
    @R.function
    def double(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.add(x, x)
        return y

    @R.function(pure=False)
    def adder(x: R.Tensor((2,), "float32")) -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")):
        @R.function
        def add(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            z = R.add(x, y)
            return z
        return add

    @R.function(pure=False)
    def own(n: T.int64):
        cls = Module
        return (cls.double, (n, cls.double))

    @R.function(pure=False)
    def apply(f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), False), x: R.Tensor((2,), "float32")):
        y = f(x)
        return y

    @R.function(pure=False)
    def same(f: R.Object) -> R.Object:
        return f

    @R.function(pure=False)
    def give(x: R.Tensor((2,), "float32")) -> R.Object:
        @R.function
        def add(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            z = R.add(x, y)
            return z
        y = R.call_packed("test.returned.receive", add, ty_args=(R.Object,))
        return y

    @R.function
    def endless(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y = cls.endless(x)
        return y

    @R.function(pure=False)
    def waiting(x: R.Tensor((2,), "float32")) -> R.Object:
        @R.function
        def wait() -> R.Tensor((2,), "float32"):
            cls = Module
            y = cls.endless(x)
            return y
        return wait
"""


@pytest.fixture(scope="module")
def model():
    return compiled(BODY)


def test_closures_are_called(model):
    add = model.adder(X)
    assert isinstance(add, hammock.Function)
    np.testing.assert_array_equal(add(Y), X + Y)
    np.testing.assert_array_equal(model.adder(Y)(Y), Y + Y)


def test_functions_in_tuples_are_called(model):
    first, (n, second) = model.own(7)
    assert n == 7
    np.testing.assert_array_equal(first(X), 2 * X)
    np.testing.assert_array_equal(second(X), 2 * X)


def test_they_are_arguments_again(model):
    add = model.adder(X)
    np.testing.assert_array_equal(model.apply(add, Y), X + Y)
    np.testing.assert_array_equal(model.same(add)(Y), X + Y)
    np.testing.assert_array_equal(model.same(lambda x: x * 3)(Y), Y * 3)
    np.testing.assert_array_equal(hammock.convert(add)(Y), X + Y)


def test_other_models_call_them(model):
    other = compiled(BODY)
    np.testing.assert_array_equal(other.apply(model.adder(X), Y), X + Y)
    np.testing.assert_array_equal(other.apply(other.same(model.adder(X)), Y), X + Y)


def test_they_outlive_their_model():
    add = compiled(BODY).adder(X.copy())
    gc.collect()
    np.testing.assert_array_equal(add(Y), X + Y)


def test_callbacks_receive_them(model):
    kept = []

    def receive(add):
        kept.append(add)
        return add(Y)

    hammock.register_global_func("test.returned.receive", receive)
    try:
        np.testing.assert_array_equal(compiled(BODY).give(X), X + Y)
    finally:
        hammock.remove_global_func("test.returned.receive")
    gc.collect()
    np.testing.assert_array_equal(kept[0](X), X + X)


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        ((np.zeros(3, "float32"),), ValueError, r"parameter `y`: expected float32\[2\], got float32\[3\]"),
        ((np.zeros(2, "int32"),), TypeError, r"the dtype is int32, not float32"),
        (("text",), TypeError, r"parameter `y`: expected float32\[2\], got a value of type str"),
        ((object(),), TypeError, r"parameter `y`: expected float32\[2\]: object cannot be a value"),
        ((), TypeError, r"missing argument `y`: float32\[2\]"),
        ((X, X), TypeError, r"takes 1 argument \(y: float32\[2\]\), 2 given"),
    ],
)
def test_wrong_arguments(model, args, kind, message):
    add = model.adder(X)
    for f in [add, hammock.convert(add)]:
        with pytest.raises(kind, match=message):
            f(*args)


def test_wrong_arguments_without_types(model):
    add = model.same(model.adder(X))
    for args, kind in [((np.zeros(3, "float32"),), ValueError), ((np.zeros(2, "int32"),), TypeError), ((), TypeError)]:
        with pytest.raises(kind, match="`y`"):
            add(*args)


def test_arguments_are_converted_and_named(model):
    add = model.adder(X)
    np.testing.assert_array_equal(add(y=[3, 4]), X + Y)
    np.testing.assert_array_equal(hammock.convert(model.double)(x=[1, 2]), 2 * X)
    with pytest.raises(TypeError, match="no parameter `x`"):
        add(x=Y)
    with pytest.raises(TypeError, match="by position"):
        hammock.convert(lambda x: x)(x=Y)
    assert "add(y: float32[2])" in repr(add)


def test_what_is_no_function_is_refused(model):
    for bad in [7, None, "text", X, (1, 2)]:
        with pytest.raises(TypeError, match="parameter `f`: expected R.Callable"):
            model.apply(bad, X)


def test_tensors_are_returned_as_by_the_model():
    add = compiled(BODY, returns="tensor").adder(X)
    assert isinstance(add(Y), hammock.Tensor)


def test_limits_of_the_model_are_those_of_its_functions(model):
    limited = compiled(BODY, timeout=0.1)
    with pytest.raises(TimeoutError):
        limited.waiting(X)()
    with pytest.raises(TimeoutError):
        hammock.convert(limited.endless)(X)
    with pytest.raises(TimeoutError):
        model.apply(model.with_limits(timeout=0.1).endless, X)


def test_an_interrupt_ends_functions_of_the_model(model):
    interrupt = hammock.Interrupt()
    endless = hammock.convert(model.with_limits(interrupt=interrupt).endless)
    timer = threading.Timer(0.1, interrupt.cancel)
    timer.start()
    with pytest.raises(hammock.CancelledError):
        endless(X)
    timer.join()


def test_threads_call_them_at_once(model):
    add = model.adder(X)
    results = []

    def run():
        results.extend(add(Y).sum() for _ in range(200))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [10] * 800
