"""Hostile arguments of the compiler's functions: each raises an exception or works, and nothing else happens."""

import inspect
import math
import random

import numpy
import pytest

import hammock

TEXT = """@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.add(x, x)
    return y
"""


class Raises:
    """An object whose every use raises."""

    def __getattr__(self, name):
        raise ZeroDivisionError(name)

    def __iter__(self):
        raise ZeroDivisionError

    def __index__(self):
        raise ZeroDivisionError

    def __str__(self):
        raise ZeroDivisionError

    __repr__ = __float__ = __fspath__ = __bool__ = __str__


def endless():
    while True:
        yield 3


VALUES = [
    "", "\0", "a", "n, m", "é", "\ud800", "/", "/dev/zero", "..", "\n", "A{", "FuseOps{}", b"", b"\x08\x08\x12\x00",
    b"\xff" * 99, bytearray(8), 0, -1, 1, 1 << 40, 1 << 80, 0.5, math.nan, -math.inf, True, False, (), [], {}, [""],
    [[]], [None], ("a", {}), {"x": 3}, {"x": ()}, {"x": (-1,)}, {"x": ("",)}, {"x": numpy.zeros(4, "float32")},
    {"x": numpy.zeros(3)}, {3: 4}, {"": ""}, object(), object, Raises(), numpy.zeros(0), numpy.float32(1), len,
    endless, lambda *_: None, hammock, range(3), slice(1),
]  # fmt: skip


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Some of the values are names of files to write."""
    monkeypatch.chdir(tmp_path)


def attempt(function, *args, **options):
    """Calls a function that may raise any exception but those of a mistake of its own."""
    try:
        function(*args, **options)
    except Exception as error:
        assert not isinstance(error, hammock.InternalError), error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [hammock.parse, hammock.import_onnx, hammock.opt, hammock.compile])
def test_single_arguments(function):
    names = [name for name in inspect.signature(function).parameters if name not in ("model", "module")]
    for value in VALUES:
        attempt(function, value)
        for name in names:
            # A time to tune for is spent.
            if name != "tune":
                attempt(function, TEXT, **{name: value})


@pytest.mark.filterwarnings("ignore")
def test_random_pairs_of_arguments():
    draw = random.Random(1)
    functions = [hammock.parse, hammock.import_onnx, hammock.opt, hammock.compile]
    for _ in range(300):
        function = draw.choice(functions)
        names = [name for name in inspect.signature(function).parameters if name != "tune"][1:]
        options = {name: draw.choice(VALUES) for name in draw.sample(names, 2)}
        attempt(function, draw.choice([TEXT, draw.choice(VALUES)]), **options)


def test_other_functions():
    for value in VALUES:
        for function in (hammock.structural_hash, hammock.Module, hammock.transform.Sequential(value)):
            attempt(function, value)
        for function in (hammock.structural_equal, hammock.assert_structural_equal):
            attempt(function, hammock.parse(TEXT), value)
        attempt(hammock.parse(TEXT).with_functions, value)
        attempt(hammock.transform.Pass, value)
        attempt(hammock.transform.Pass, "FuseOps", value)
    assert hammock.structural_equal(hammock.parse(TEXT), hammock.parse(TEXT))
