"""Memory of CUDA devices through the driver, and producers of DLPack capsules over it."""

import ctypes
from typing import Any

import numpy as np

_driver = ctypes.CDLL("libcuda.so.1")


def _call(name: str, *args: Any) -> None:
    status = getattr(_driver, name)(*args)
    assert status == 0, f"{name} returned {status}"


class _Tensor(ctypes.Structure):
    """DLPack's managed tensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Array:
    """A float32 array on a CUDA device, as other frameworks have them."""

    def __init__(self, values: Any, index: int = 0, strides: Any = None) -> None:
        host = np.ascontiguousarray(values, "float32")
        _call("cuInit", 0)
        context = ctypes.c_void_p()
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), index)
        _call("cuCtxSetCurrent", context)
        self.address, self.index, self.size = ctypes.c_uint64(), index, host.nbytes
        _call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(host.nbytes, 4)))
        _call("cuMemcpyHtoD_v2", self.address, host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(host.nbytes))
        self.shape = (ctypes.c_int64 * host.ndim)(*host.shape)
        self.strides = (ctypes.c_int64 * host.ndim)(*strides) if strides else None
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.index

    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.streams.append(stream)
        self.tensor = _Tensor(
            self.address.value, (2, self.index), len(self.shape), (2, 32, 1, 0), self.shape, self.strides, 0, None, None
        )
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)

    def address_in(self, tensor: Any) -> bool:
        """Returns true if a producer's tensor is this memory."""
        capsule = tensor.__dlpack__(stream=2)
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        return _Tensor.from_address(get(capsule, b"dltensor")).data == self.address.value
