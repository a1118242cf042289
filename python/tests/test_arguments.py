"""Arguments of calls: what is accepted, without a copy where possible, and the errors for everything else."""

import array
import ctypes
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import models

ONES = np.ones((3, 4), np.float32)
ROW = np.arange(4, dtype=np.float32)


def misaligned(values: np.ndarray) -> np.ndarray:
    """The same array one byte off its alignment."""
    memory = np.zeros(values.nbytes + 1, np.uint8)
    view = memory[1:].view(values.dtype)
    view[...] = values
    return view


@pytest.mark.parametrize("dtype", models.DTYPES)
def test_arrays_of_any_layout_have_their_values(dtype: str) -> None:
    function = models.typed()[dtype]
    values = (np.arange(12) % 2 if dtype == "bool" else np.arange(12)).astype(dtype)
    swapped = values.astype(values.dtype.newbyteorder())
    frozen = values.copy()
    frozen.flags.writeable = False
    layouts = [values, values[::2], values[::-1], values[:0], swapped, frozen, misaligned(values), values[3:9]]
    layouts += [np.broadcast_to(values[3], (5,)), memoryview(values), np.array(values, order="F")]
    for x in layouts:
        np.testing.assert_array_equal(function(x), np.flip(np.asarray(x)))
        assert function(x).dtype == dtype


def test_results_share_no_memory_with_arguments_unless_they_are_arguments() -> None:
    x = ONES.copy()
    same = models.zoo().same(x)
    assert np.shares_memory(same, x)
    assert not np.shares_memory(models.zoo()(x, ROW), x)
    frozen = ONES.copy()
    frozen.flags.writeable = False
    assert not models.zoo().same(frozen).flags.writeable
    assert not models.zoo().constant().flags.writeable


def test_objects_with_a_buffer_are_arguments() -> None:
    expected = ONES + ROW
    floats = array.array("f", ROW)
    for w in (floats, memoryview(floats), (ctypes.c_float * 4)(*ROW), ROW.tolist(), tuple(ROW)):
        np.testing.assert_array_equal(models.zoo()(ONES, w), expected)
    np.testing.assert_array_equal(models.typed().uint8(bytearray(b"abc")), np.frombuffer(b"cba", np.uint8))


def test_numbers_become_tensors_and_scalars() -> None:
    zoo = models.zoo()
    np.testing.assert_array_equal(zoo.filled((2, 3), 7), np.full((2, 3), 7, np.int32))
    np.testing.assert_array_equal(zoo.filled([2, 3], True), np.ones((2, 3), np.int32))
    np.testing.assert_array_equal(zoo.filled((0, 3), np.int32(7)), np.zeros((0, 3), np.int32))
    for number in (3, np.int64(3), np.array(3), np.uint8(3)):
        assert zoo.numbers(number, 3) == (3, 3.0)
    assert zoo.numbers(-(2**63), np.float32(0.5)) == (-(2**63), 0.5)
    assert zoo.small(-5, True) == (-5, True)
    y, (k, word) = zoo.fields(([1, 2.5], 9))
    assert (y.tolist(), k, word) == ([2.0, 5.0], 9, "seven")


@pytest.mark.parametrize("value", [None, True, -3, 2.5, "tëxt", b"bytes", (1, ("a", ())), ()])
def test_values_pass_through_unchanged(value: Any) -> None:
    result = models.zoo().same(value)
    assert result == value and type(result) is type(value)


def test_parameters_are_given_by_position_or_name() -> None:
    zoo = models.zoo()
    expected = ONES + ROW
    for y in (zoo(ONES, ROW), zoo(ONES, w=ROW), zoo(w=ROW, x=ONES), zoo.main(x=ONES, w=ROW), zoo["main"](ONES, ROW)):
        np.testing.assert_array_equal(y, expected)


BAD_CALLS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: models.zoo()(), TypeError, "main() is missing arguments `x`: float32[n, 4], `w`: float32[4]"),
    (lambda: models.zoo()(ONES), TypeError, "main() is missing argument `w`: float32[4]"),
    (lambda: models.zoo()(ONES, ROW, 1), TypeError, "main() takes 2 arguments"),
    (lambda: models.zoo()(ONES, x=ONES), TypeError, "main() got parameter `x` by position and by name"),
    (lambda: models.zoo()(ONES, zz=ROW), TypeError, "main() has no parameter `zz`"),
    (lambda: models.zoo().filled(shape=(1, 2), valu=3), TypeError, "no parameter `valu`; did you mean `value`?"),
    (lambda: models.zoo().nothing, AttributeError, "no function `nothing`"),
    (lambda: models.zoo()["pairwis"], KeyError, "did you mean `pairwise`?"),
    (
        lambda: models.zoo()(ONES.astype(np.float64), ROW),
        TypeError,
        "main(), parameter `x`: expected float32[n, 4], got float64[3, 4]: the dtype is float64, not float32; convert "
        'it, as with astype("float32")',
    ),
    (
        lambda: models.zoo()(np.ones((3, 5), np.float32), ROW),
        ValueError,
        "main(), parameter `x`: expected float32[n, 4], got float32[3, 5]: axis 1 is 5, not 4",
    ),
    (
        lambda: models.zoo()(ONES, np.ones((1, 4), np.float32)),
        ValueError,
        "main(), parameter `w`: expected float32[4], got float32[1, 4]: the rank is 2, not 1",
    ),
    (
        lambda: models.zoo().pairwise(np.ones((2, 3), np.float32), np.ones((3, 7), np.float32)),
        ValueError,
        "pairwise(), parameter `b`: expected float32[m, n], got float32[3, 7]: axis 1 is 7, but n is 2 in parameter "
        "`a`",
    ),
    (
        lambda: models.zoo()("text", ROW),
        TypeError,
        "main(), parameter `x`: expected float32[n, 4], got a value of type",
    ),
    (lambda: models.zoo()(None, ROW), TypeError, "main(), parameter `x`: expected float32[n, 4], got None"),
    (lambda: models.zoo()(object(), ROW), TypeError, "main(), parameter `x`: expected float32[n, 4]: object cannot be"),
    (lambda: models.zoo()({"a": 1}, ROW), TypeError, "main(), parameter `x`: expected float32[n, 4]: dict cannot be"),
    (lambda: models.zoo()([[1, 2], [3]], ROW), ValueError, "inhomogeneous"),
    (lambda: models.zoo()(ONES, np.zeros(4, object)), TypeError, "arrays of dtype `object` cannot be arguments"),
    (lambda: models.zoo()(ONES, np.array(list("abcd"))), TypeError, "cannot be arguments"),
    (lambda: models.zoo()(ONES, np.zeros(4, "M8[s]")), TypeError, "cannot be arguments"),
    (lambda: models.zoo()(ONES, np.zeros(4, "f4,i4")), TypeError, "cannot be arguments"),
    (lambda: models.zoo()(ONES, np.zeros(4, np.longdouble)), TypeError, "cannot be arguments"),
    (lambda: models.zoo()(ONES, np.ma.masked_array(ROW, [0, 1, 0, 0])), TypeError, "masked"),
    (lambda: models.zoo()(ONES, np.broadcast_to(np.float32(1), (1 << 40,))), ValueError, "axis 0 is 1099511627776"),
    (lambda: models.zoo().numbers(1.5, 1.0), TypeError, "numbers(), parameter `i`: expected int64, got the float 1.5"),
    (lambda: models.zoo().numbers(float("nan"), 1.0), TypeError, "numbers(), parameter `i`: expected int64"),
    (lambda: models.zoo().numbers(2**63, 1.0), OverflowError, "numbers(), parameter `i`: expected int64"),
    (lambda: models.zoo().small(2**31, True), OverflowError, "small(), parameter `i`: expected int32, got 2147483648"),
    (lambda: models.zoo().small(1, 2), OverflowError, "small(), parameter `b`: expected bool, got 2"),
    (lambda: models.zoo().numbers(1, "2"), TypeError, "numbers(), parameter `f`: expected float64"),
    (lambda: models.zoo().numbers(1, 10**400), OverflowError, "numbers(), parameter `f`: expected float64"),
    (lambda: models.zoo().filled((2, 3), 2**31), OverflowError, "filled(), parameter `value`"),
    (lambda: models.zoo().filled((2, 3), 1.5), TypeError, "filled(), parameter `value`"),
    (lambda: models.zoo().filled((2, 3), float("nan")), TypeError, "filled(), parameter `value`"),
    (lambda: models.zoo().filled((2, 2**63), 1), OverflowError, "filled(), parameter `shape`"),
    (lambda: models.zoo().filled((2, "3"), 1), TypeError, "filled(), parameter `shape`"),
    (
        lambda: models.zoo().filled((2,), 1),
        ValueError,
        "filled(), parameter `shape`: expected shape[a, b], got shape[2]",
    ),
    (lambda: models.zoo().fields(([1, 2], 3, 4)), ValueError, "fields(), parameter `pair`"),
    (lambda: models.zoo().fields([1, 2]), ValueError, "fields(), parameter `pair`"),
    (lambda: models.typed().uint8([-1]), OverflowError, "uint8(), parameter `x`"),
    (lambda: models.typed().bool([2]), TypeError, "bool(), parameter `x`"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_errors_name_function_and_parameter(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)) as raised:
        call()
    assert raised.type is error


def test_exceptions_of_arguments_pass_through() -> None:
    failure = ZeroDivisionError("mine")

    class Failing:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise failure

    with pytest.raises(ZeroDivisionError) as raised:
        models.zoo()(Failing(), ROW)
    assert raised.value is failure
    assert any("main(), parameter `x`" in note for note in raised.value.__notes__)


def test_nesting_is_limited() -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    endless: list[Any] = []
    endless.append(endless)

    class Endless:
        def item(self) -> Any:
            return self

    zero = np.empty((), object)
    zero[()] = zero
    for value in (deep, endless):
        with pytest.raises(ValueError, match="nested more than 100 deep"):
            models.zoo().same(value)
        with pytest.raises((ValueError, TypeError)):
            models.zoo()(value, ROW)
    for value in (Endless(), zero):
        with pytest.raises(ValueError, match="nested more than 100 deep"):
            models.zoo().numbers(value, 1.0)


def test_memory_stays_locked_while_the_model_has_it() -> None:
    data = bytearray(b"abc")
    result = models.zoo().same(data)
    with pytest.raises(BufferError):
        data.append(1)
    del result
    data.append(1)
    x = np.ones(4, np.float32)
    result = models.zoo().same(x)
    with pytest.raises(ValueError, match="cannot resize"):
        x.resize(1 << 20, refcheck=False)
    del result
    x.resize(8, refcheck=False)


def test_arrays_cannot_be_resized_during_a_call() -> None:
    model = models.compiled(
        """\
    @R.function
    def main(a: R.Tensor((256, 256), "float32"), b: R.Tensor((256, 256), "float32")):
        c = R.matmul(a, b)
        return c
"""
    )
    x = np.ones((256, 256), np.float32)
    expected = x @ x
    done = threading.Event()
    refusals = []

    def resize() -> None:
        while not done.is_set():
            try:
                x.resize((512, 256), refcheck=False)
                x.resize((256, 256), refcheck=False)
            except ValueError as error:
                refusals.append(error)

    thread = threading.Thread(target=resize)
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while not refusals and time.monotonic() < deadline:
            try:
                np.testing.assert_array_equal(model(x, x), expected)
            except ValueError as error:
                assert "axis 0 is 512" in str(error)
    finally:
        done.set()
        thread.join()
    assert refusals
