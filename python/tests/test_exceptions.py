"""Exceptions keep their classes and messages on the way through functions, models and callbacks."""

import asyncio
import ctypes

import numpy as np
import pytest
from models import zoo

import hammock

APPLY = """
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32"), f: R.Object) -> R.Object:
    y = R.call_packed("test.exceptions.apply", f, x, ty_args=(R.Object,))
    return y
"""

X = np.zeros(3, "float32")


class Own(Exception):
    pass


class OwnKey(KeyError):
    pass


THROWN = [
    TypeError("a type"),
    ValueError("a value"),
    IndexError("an index"),
    KeyError("a key"),
    KeyError(7),
    OwnKey("an own key"),
    AttributeError("an attribute", name="name", obj=7),
    MemoryError("memory"),
    TimeoutError("time"),
    TimeoutError(110, "time"),
    RecursionError("depth"),
    NotImplementedError("not yet"),
    OSError(2, "no such file", "name"),
    StopIteration(7),
    StopAsyncIteration(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "why"),
    ExceptionGroup("several", [ValueError(1), KeyError(2)]),
    ZeroDivisionError(),
    Own("text", 7),
    hammock.CancelledError("cancelled"),
    hammock.InternalError("internal"),
    asyncio.CancelledError("cancelled"),
    KeyboardInterrupt("stop"),
    SystemExit(3),
]


@pytest.fixture(scope="module")
def apply():
    """A model whose function calls a function that it receives."""
    hammock.register_global_func("test.exceptions.apply", lambda f, x: f(x))
    yield hammock.compile(APPLY)
    hammock.remove_global_func("test.exceptions.apply")


@pytest.mark.parametrize("thrown", THROWN, ids=repr)
def test_callbacks_raise_them(apply, thrown):
    before = (type(thrown), thrown.args, str(thrown))

    def fail(*_):
        raise thrown

    functions = [
        hammock.convert(fail),
        hammock.convert(lambda x: hammock.convert(fail)(x)),
        lambda x: apply(x, fail),
        hammock.convert(lambda x: apply(x, hammock.convert(fail))),
    ]
    for f in functions:
        with pytest.raises(type(thrown)) as caught:
            f(X)
        assert caught.value is thrown and (type(thrown), thrown.args, str(thrown)) == before


WRONG = [
    ("main", (np.zeros((2, 4), "float32"), np.zeros(3, "float32"))),
    ("main", (np.zeros((2, 4), "int32"), np.zeros(4, "float32"))),
    ("main", (np.zeros(4, "float32"), np.zeros(4, "float32"))),
    ("main", (np.zeros((2, 4), "float32"),)),
    ("main", ()),
    ("main", (np.zeros((2, 4), "float32"),) * 3),
    ("pairwise", (np.zeros((2, 3), "float32"), np.zeros((3, 5), "float32"))),
    ("fields", ((np.zeros(2, "float32"),),)),
    ("fields", (7,)),
    ("filled", ("text", np.zeros((), "int32"))),
]


@pytest.mark.parametrize(("name", "args"), WRONG)
def test_functions_raise_what_their_model_raises(apply, name, args):
    function = zoo()[name]
    with pytest.raises((TypeError, ValueError)) as expected:
        function(*args)
    converted = hammock.convert(function)
    for call in [converted, lambda *args: apply(X, lambda x: converted(*args))]:
        with pytest.raises(type(expected.value)) as caught:
            call(*args)
        assert type(caught.value) is type(expected.value) and str(caught.value) == str(expected.value)


def raising(kind):
    """A function in C that raises an error of this kind, with nothing attached."""
    library = ctypes.CDLL(hammock._hammock.__file__)

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)
    def fail(handle, args, count, result):
        return library.hammock_raise(kind.encode(), (ctypes.c_char_p * 2)(b"the ", b"message"), 2)

    return hammock.Function.from_address(ctypes.cast(fail, ctypes.c_void_p).value, owner=fail)


@pytest.mark.parametrize(
    "kind",
    [TypeError, ValueError, IndexError, KeyError, MemoryError, TimeoutError, OSError, AssertionError]
    + [hammock.CancelledError, hammock.InternalError],
)
def test_functions_in_c_raise_them(apply, kind):
    fail = raising(kind.__name__)
    for call in [fail, lambda x: apply(x, fail), lambda x: apply(x, hammock.convert(lambda y: fail(y)))]:
        with pytest.raises(kind) as caught:
            call(X)
        assert type(caught.value) is kind and caught.value.args == ("the message",)


@pytest.mark.parametrize("kind", ["Unheard", "UnicodeDecodeError", "ExceptionGroup", "KeyboardInterrupt", "print", ""])
def test_other_kinds_are_named(apply, kind):
    fail = raising(kind)
    for call in [fail, lambda x: apply(x, fail)]:
        with pytest.raises(RuntimeError) as caught:
            call(X)
        assert type(caught.value) is RuntimeError and str(caught.value) == f"{kind}: the message"


def test_limits_raise_their_exceptions():
    text = """
@R.function
def main(s: R.Shape(["n"])) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    y = R.zeros(R.shape([n]), "float32")
    return y
"""
    model = hammock.compile(text, max_memory=1 << 20)
    for f in [model, model.main, hammock.convert(model.main), hammock.convert(model)]:
        with pytest.raises(MemoryError):
            f((1 << 28,))
