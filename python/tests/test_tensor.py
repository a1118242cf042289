"""The class `Tensor`: memory shared with NumPy, DLPack and buffers, and elements of every dtype."""

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import hammock
import models

# Whether NumPy reads DLPack's versioned form, which marks constants.
NUMPY_KNOWS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
FLOATS = np.arange(6, dtype=np.float32).reshape(2, 3)


def bfloat16s() -> hammock.Tensor:
    """A tensor of bfloat16, whether NumPy has that dtype or not."""
    model = models.compiled(
        """\
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        y = R.astype(x, "bfloat16")
        return y
""",
        returns="tensor",
    )
    return model([0.5, -1.0, 3.0])


def test_properties() -> None:
    tensor = hammock.Tensor(FLOATS)
    assert (tensor.shape, tensor.dtype, tensor.device) == ((2, 3), "float32", "cpu:0")
    assert (tensor.ndim, tensor.size, tensor.nbytes, len(tensor)) == (2, 6, 24, 2)
    assert "float32[2, 3]" in repr(tensor)


@pytest.mark.parametrize("value", [FLOATS, np.array(3.0), np.zeros((0, 3), np.int8), np.array([True, False])])
def test_memory_is_shared_in_both_directions(value: np.ndarray) -> None:
    tensor = hammock.Tensor(value)
    for view in (tensor.numpy(), np.asarray(tensor), np.from_dlpack(tensor), np.asarray(memoryview(tensor))):
        np.testing.assert_array_equal(view, value)
        assert view.dtype == value.dtype and view.shape == value.shape
        assert value.size == 0 or np.shares_memory(view, value)
    np.testing.assert_array_equal(np.array(tensor, copy=True), value)
    assert not np.shares_memory(np.array(tensor, copy=True), value)


def test_array_interface_converts_and_refuses_to_copy() -> None:
    tensor = hammock.Tensor(FLOATS)
    assert np.asarray(tensor, np.int64).tolist() == FLOATS.tolist()
    assert tensor.__array__(None) is not None
    with pytest.raises(ValueError, match="without a copy"):
        tensor.__array__(np.int64, copy=False)


def test_dlpack_versions_and_copies() -> None:
    tensor = hammock.Tensor(FLOATS)
    assert '"dltensor_versioned"' in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(tensor.__dlpack__())
    assert tensor.__dlpack_device__() == (1, 0)
    if NUMPY_KNOWS_VERSIONS:
        assert not np.shares_memory(np.from_dlpack(tensor, copy=True), FLOATS)
    for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            tensor.__dlpack__(**wrong)


def test_constants_are_read_only() -> None:
    model = models.compiled(
        """\
    @R.function
    def main():
        y = R.const([1.0, 2.0], "float32")
        return y
""",
        returns="tensor",
    )
    tensor = model()
    assert not tensor.numpy().flags.writeable and memoryview(tensor).readonly
    if NUMPY_KNOWS_VERSIONS:
        assert not np.from_dlpack(tensor).flags.writeable
    with pytest.raises(BufferError):
        tensor.__dlpack__()


def test_capsules_are_used_once() -> None:
    class Twice:
        def __init__(self) -> None:
            self.capsule = FLOATS.__dlpack__()

        def __dlpack__(self, **_: Any) -> Any:
            return self.capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    producer = Twice()
    np.testing.assert_array_equal(hammock.Tensor(producer).numpy(), FLOATS)
    with pytest.raises(BufferError, match="already used"):
        hammock.Tensor(producer)


def test_producers_of_nonsense_are_rejected() -> None:
    class Producer:
        def __init__(self, result: Any) -> None:
            self.result = result

        def __dlpack__(self, **_: Any) -> Any:
            return self.result

    for nonsense in (None, 3, "dltensor", object()):
        with pytest.raises(TypeError, match="not a capsule"):
            hammock.Tensor(Producer(nonsense))


def test_elements_are_read_through_numpy() -> None:
    tensor = hammock.Tensor(FLOATS)
    assert tensor[1, 2] == 5.0 and tensor[0].tolist() == [0.0, 1.0, 2.0] and tensor[:, ::2].shape == (2, 2)
    assert [row.sum() for row in tensor] == [3.0, 12.0]
    with pytest.raises(IndexError):
        tensor[2]
    np.testing.assert_array_equal(tensor == FLOATS, np.ones((2, 3), bool))
    np.testing.assert_array_equal(FLOATS + tensor, 2 * FLOATS)


def test_items() -> None:
    assert hammock.Tensor(np.array([[2.5]])).item() == 2.5
    assert int(hammock.Tensor(7)) == 7 and float(hammock.Tensor(0.5)) == 0.5 and bool(hammock.Tensor(True))
    assert hammock.Tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="one element"):
        hammock.Tensor(FLOATS).item()
    with pytest.raises(TypeError, match="rank 0"):
        len(hammock.Tensor(1))


def test_small_floats_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    tensor = bfloat16s()
    assert tensor.dtype == "bfloat16" and tensor.tolist() == [0.5, -1.0, 3.0]
    np.testing.assert_array_equal(tensor.astype("float64"), [0.5, -1.0, 3.0])
    with pytest.raises(TypeError, match="ml_dtypes"):
        tensor.numpy()
    with pytest.raises(BufferError):
        memoryview(tensor)
    assert isinstance(models.zoo().halves([1.0]), hammock.Tensor)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"])
def test_small_floats_with_ml_dtypes(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.array([0.5, -1.0, 3.0, 0.0]).astype(getattr(ml_dtypes, name))
    tensor = hammock.Tensor(values)
    assert tensor.dtype == name and tensor.numpy().dtype == values.dtype
    np.testing.assert_array_equal(tensor.numpy(), values)
    every = np.arange(256, dtype=np.uint8).view(values.dtype) if values.itemsize == 1 else values
    np.testing.assert_array_equal(hammock.Tensor(every).astype("float32"), every.astype("float32"))


class DLTensor(ctypes.Structure):
    """DLPack's managed tensor without a deleter."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Producer:
    """A producer of a vector of any dtype, on any device."""

    def __init__(self, data: bytes, size: int, dtype: tuple[int, int], device: int = 1) -> None:
        self.memory, self.shape = ctypes.create_string_buffer(data), (ctypes.c_int64 * 1)(size)
        self.tensor = DLTensor(
            ctypes.addressof(self.memory), (device, 0), 1, (*dtype, 1, 0), self.shape, None, 0, None, None
        )

    def __dlpack__(self) -> Any:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


@pytest.mark.parametrize(
    ("dtype", "code", "data", "values"),
    [
        ("int4", (0, 4), b"\x81\x07\x0f", [1, -8, 7, 0, -1]),
        ("uint4", (1, 4), b"\xf1\x00", [1, 15, 0]),
        ("float4_e2m1fn", (17, 4), b"\x9a\x07", [-1.0, -0.5, 6.0]),
        ("float8_e4m3fn", (10, 8), b"\x38\xb0\x7e", [1.0, -0.5, 448.0]),
        ("bfloat16", (4, 16), b"\x80\x3f\x00\xbf", [1.0, -0.5]),
    ],
)
def test_elements_that_numpy_lacks(dtype: str, code: tuple[int, int], data: bytes, values: list[float]) -> None:
    producer = Producer(data, len(values), code)
    tensor = hammock.Tensor(producer)
    assert tensor.dtype == dtype and tensor.tolist() == values
    assert tensor.astype("float64").tolist() == values and tensor.astype("float64").dtype == np.float64
    assert models.zoo().same(producer) is not None


def test_tensors_of_other_devices_are_rejected() -> None:
    with pytest.raises(ValueError, match="main\\(\\), parameter `x`: expected .*: the tensor is on cuda"):
        models.zoo()(Producer(bytes(48), 12, (2, 32), device=2), [1, 2, 3, 4])


def test_misaligned_tensors_are_copied() -> None:
    producer = Producer(b"\0" + np.arange(3, dtype=np.float32).tobytes(), 3, (2, 32))
    producer.tensor.byte_offset = 1
    assert hammock.Tensor(producer).tolist() == [0.0, 1.0, 2.0]


def test_torch_tensors_go_in_and_out() -> None:
    torch = pytest.importorskip("torch")
    model = models.compiled(
        """\
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        y = R.add(x, x)
        return (y, x)
""",
        returns="torch",
    )
    x = torch.arange(3, dtype=torch.float32)
    y, same = model(x)
    assert isinstance(y, torch.Tensor) and y.tolist() == [0.0, 2.0, 4.0]
    assert same.data_ptr() == x.data_ptr()


def test_memory_is_released() -> None:
    class Owned(np.ndarray):
        pass

    x = np.ones(8, np.float32).view(Owned)
    gone = weakref.ref(x)
    tensor = hammock.Tensor(x)
    view = tensor.numpy()
    del x, tensor
    assert gone() is not None
    del view
    gc.collect()
    assert gone() is None
