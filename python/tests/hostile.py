"""Hostile values, drawn at random, and calls with them.

Run as a program, `python hostile.py COUNT SEED` makes calls and prints how many returned and raised.
"""

import array
import collections
import ctypes
import datetime
import decimal
import fractions
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import hammock
import models

ALLOWED = (TypeError, ValueError, OverflowError, BufferError, AttributeError, KeyError, OSError, MemoryError)


class Hostile(Exception):
    """What objects here raise by themselves."""


def _raising(*_: Any, **__: Any) -> Any:
    raise Hostile


class Subclass(np.ndarray):
    """A subclass whose attributes are of no use."""

    shape = property(_raising)  # type: ignore[assignment]
    strides = property(_raising)  # type: ignore[assignment]
    flags = property(_raising)  # type: ignore[assignment]
    item = _raising


class HostileInt(int):
    """An integer that denies it."""

    __index__ = __int__ = __float__ = _raising


class HostileFloat(float):
    """A float that denies it."""

    __float__ = __int__ = _raising


class Random:
    """Draws values and calls from a seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        """A value of any kind."""
        kinds = [self.array, self.array, self.array, self.odd_array, self.number, self.text, self.thing, self.protocol]
        if depth < 4:
            kinds += [self.nested, lambda: self.sequence(depth)]
        return self.draw.choice(kinds)()

    def array(self) -> Any:
        """An array of a dtype that models have, in some layout."""
        dtype = self.draw.choice([*models.DTYPES, *["float32"] * 8, "complex64", "longdouble"])
        shape = self.draw.choice([(), (0,), (1,), (4,), (7,), (3, 4), (4, 3), (0, 4), (3, 5), (2, 3, 4), (1,) * 20])
        x = np.ones(shape, dtype)
        layouts: list[Callable[[], Any]] = [
            lambda: x,
            lambda: x.T,
            lambda: x[..., ::-1] if x.ndim else x,
            lambda: x[::2] if x.ndim else x,
            lambda: np.asfortranarray(x),
            lambda: x.astype(x.dtype.newbyteorder()),
            lambda: np.broadcast_to(x, (3, *shape)),
            lambda: np.broadcast_to(np.ones((), dtype), (1 << self.draw.choice([9, 50]),)),
            lambda: np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(shape) if x.ndim else x,
            lambda: np.lib.stride_tricks.as_strided(x, shape, tuple(0 for _ in shape)),
            lambda: x.view(Subclass),
            lambda: np.ma.masked_array(x, mask=True),
            lambda: hammock.Tensor(x),
            lambda: memoryview(x),
        ]
        result = self.draw.choice(layouts)()
        if self.draw.random() < 0.2 and isinstance(result, np.ndarray):
            np.ndarray.setflags(result, write=False)
        return result

    def odd_array(self) -> Any:
        """An array of a dtype that models lack."""
        dtype = self.draw.choice(["O", "U3", "S5", "S0", "M8[s]", "m8[ns]", "V3", "f4,i8", "(2,3)f4,?", "G", "T"])
        try:
            x = np.zeros(self.draw.choice([(), (0,), (4,), (3, 4)]), dtype)
        except TypeError:
            x = np.zeros(3, "O")
        return self.draw.choice([lambda: x, lambda: x.view(np.recarray), lambda: list(x) if x.ndim else x])()

    def number(self) -> Any:
        """A number, most of them at the edge of some range."""
        width = self.draw.choice([0, 7, 8, 15, 16, 31, 32, 53, 63, 64, 65, 200, 5000])
        integer = self.draw.choice([1, -1]) * ((1 << width) + self.draw.choice([-1, 0, 1]))
        floats = [0.0, -0.0, 0.5, 1e308, -1e-320, float("inf"), float("-inf"), float("nan")]
        return self.draw.choice(
            [
                integer,
                self.draw.choice(floats),
                bool(integer & 1),
                complex(1, 2),
                HostileInt(3),
                HostileFloat(0.5),
                fractions.Fraction(1, 3),
                decimal.Decimal("0.1"),
                np.dtype(self.draw.choice(models.DTYPES)).type(1),
                ctypes.c_float(1.5),
            ]
        )

    def text(self) -> Any:
        """A text or bytes."""
        released = memoryview(b"gone")
        released.release()
        return self.draw.choice(
            ["", "x", "\0", "\ud800", "ü" * 1000, b"", b"\xff" * 9, bytearray(b"abcd"), memoryview(b"abcd"), released]
        )

    def thing(self) -> Any:
        """An object that is no value of a model, or hardly one."""
        return self.draw.choice(
            [
                lambda: None,
                lambda: ...,
                lambda: NotImplemented,
                lambda: object(),
                lambda: {"a": 1},
                lambda: {1, 2},
                lambda: range(4),
                lambda: slice(3),
                lambda: iter([1, 2]),
                lambda: (x for x in (1, 2)),
                lambda: int,
                lambda: Hostile(),
                lambda: datetime.date(2000, 1, 1),
                lambda: sys,
                lambda: _raising,
                lambda: np,
                lambda: np.float32,
                lambda: array.array(self.draw.choice("bBhHiIlLqQfd"), [1, 2, 3, 4]),
                lambda: array.array("u", "abcd"),
                lambda: (ctypes.c_float * 4)(),
                lambda: (ctypes.c_char_p * 2)(),
                lambda: models.zoo(),
                lambda: models.zoo().main,
                lambda: models.zoo().same(_raising),
                lambda: np.ones(3).__dlpack__(),
                lambda: collections.UserList([1, 2]),
            ]
        )()

    def protocol(self) -> Any:
        """An object with one or two of the methods that are looked for, which raise or return anything."""
        names = ["__array__", "__dlpack__", "__dlpack_device__", "__array_interface__", "__array_struct__", "__index__"]
        names += ["__float__", "__int__", "__bool__", "__len__", "__iter__", "__getitem__", "item", "__call__"]
        names += ["__class__", "__getattr__", "dtype", "shape", "__buffer__"]
        members: dict[str, Any] = {}
        for name in self.draw.sample(names, self.draw.randint(1, 2)):
            result = self.draw.choice([None, 1, -1, 1 << 70, "x", [], (1,), {}, np.ones(4, np.float32), object(), int])
            answers = [_raising, result, lambda *_, result=result, **__: result, property(_raising)]
            answers.append(lambda self, *_, **__: self)
            members[name] = self.draw.choice(answers)
        return type("Protocol", (), members)()

    def nested(self) -> Any:
        """A list that nests deeply, or contains itself."""
        inner: Any = self.draw.choice([[], 1.0, "x"])
        for _ in range(self.draw.choice([1, 2, 32, 64, 65, 101, 5000])):
            inner = [inner] if self.draw.random() < 0.5 else (inner,)
        if self.draw.random() < 0.3:
            endless: list[Any] = [inner]
            endless.append(endless)
            return endless
        return inner

    def sequence(self, depth: int) -> Any:
        """A list or tuple, some of them ragged."""
        length = self.draw.choice([0, 1, 2, 2, 3, 4, 4, 100])
        if self.draw.random() < 0.5:
            items = [self.number() for _ in range(length)]
        else:
            items = [self.value(depth + 1) for _ in range(min(length, 4))]
        return self.draw.choice([list, tuple, np.array if not items else list])(items)

    def call(self) -> Any:
        """A call with such values; its result, after a check of those that are known."""
        model = self.draw.choice([models.zoo(), models.typed()])
        name = self.draw.choice([*model.functions, "float32"] if "float32" in model else model.functions)
        parameters = model.signature(name).parameters
        number = len(parameters) if self.draw.random() < 0.9 else self.draw.randrange(4)
        args = [self.value() for _ in range(number)]
        named = {}
        if self.draw.random() < 0.05:
            named[self.draw.choice(["x", "w", "value", "", "\ud800", "self", "args", "func", "i"])] = self.value()
        match self.draw.randrange(20):
            case 0:
                return hammock.Tensor(*args, **named)
            case 1:
                tensor = hammock.Tensor(args[0]) if args else None
                return tensor and [tensor.tolist(), tensor.astype(self.draw.choice(models.DTYPES)), repr(tensor)]
            case 2:
                return model[args[0]] if args else model.signature(*args)
            case 3:
                return model.bench(*args, min_time=1e-6, func=name, **named)
            case 4:
                return hammock.load(*args, returns=self.value(), timeout=self.value(), max_memory=self.value())
            case 5:
                return hammock.inspect(*args)
            case _:
                result = model[name](*args, **named)
        if model is models.typed() and len(args) == 1:
            check_reversed(args[0], result)
        return result


def check_reversed(x: Any, result: np.ndarray) -> None:
    """Fails if a result is not the argument, reversed."""
    if isinstance(x, np.ndarray | hammock.Tensor | memoryview):
        expected = np.flip(np.asarray(x))
        assert result.dtype == expected.dtype.newbyteorder("="), (x, result)
        np.testing.assert_array_equal(result, expected)


def run(count: int, seed: int) -> collections.Counter[str]:
    """Makes calls; how often each exception came, and a result."""
    outcomes: collections.Counter[str] = collections.Counter()
    for number in range(count):
        source = Random(seed * 1_000_003 + number)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                source.call()
            outcomes["result"] += 1
        except (Hostile, *ALLOWED) as error:
            assert str(error) or isinstance(error, Hostile), f"call {number} of seed {seed}: {error!r}"
            outcomes[type(error).__name__] += 1
        except BaseException as error:
            raise AssertionError(f"call {number} of seed {seed}: {error!r}") from error
    return outcomes


if __name__ == "__main__":
    print(dict(run(int(sys.argv[1]), int(sys.argv[2]))))
