"""Devices, under the names that TVM gives them."""

from __future__ import annotations

from collections.abc import Callable

from hammock._hammock import _device_exists

#: Kinds of devices by the number that DLPack gives them.
_KINDS = {"cpu": 1, "cuda": 2}


class Device:
    """A device: its kind, "cpu" or "cuda", and its index. `Device("cuda:1")` is the same as `Device("cuda", 1)`.

    Raises ValueError for other kinds and for a negative index. A device can be named wherever it is not present.
    """

    __slots__ = ("type", "index")

    type: str
    """The kind."""
    index: int
    """The number among the devices of its kind, from 0."""

    def __init__(self, type: str, index: int | None = None) -> None:
        kind, colon, number = type.partition(":")
        if colon and index is not None:
            raise ValueError(f'Device("{type}", {index}) has two indices')
        if kind not in _KINDS:
            raise ValueError(f"there is no device `{kind}`; there are: {', '.join(_KINDS)}")
        if colon and not number.isdecimal() or (index is not None and index < 0):
            raise ValueError(f"the index of a device is 0, 1, 2, …, not {number if colon else index}")
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "index", int(number) if colon else index or 0)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Device does not change")

    @property
    def device_type(self) -> int:
        """The kind as DLPack's number: 1 for CPUs, 2 for CUDA."""
        return _KINDS[self.type]

    @property
    def device_id(self) -> int:
        """The index."""
        return self.index

    @property
    def exist(self) -> bool:
        """True if it is present, with its driver."""
        return _device_exists(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Callable[..., Device], tuple[str, int]]:
        return Device, (self.type, self.index)

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f'hammock.Device("{self}")'


def cpu(index: int = 0) -> Device:
    """The CPU. There is one, with index 0."""
    return Device("cpu", index)


def cuda(index: int = 0) -> Device:
    """A CUDA device, for models that are compiled with `target="cuda"`."""
    return Device("cuda", index)


def to_device(device: Device | str) -> Device:
    """Returns a device of its name, or of an object with its kind and index.

    Raises ValueError if it has another kind, and TypeError if it is no device.
    """
    if isinstance(device, str):
        device = Device(device)
    elif not isinstance(device, Device):
        # Devices of tvm_ffi are objects with these attributes, too.
        if not (hasattr(device, "type") and hasattr(device, "index")):
            raise TypeError(
                f"a device is a hammock.Device, as of hammock.cpu(), or a string, not {type(device).__name__}"
            )
        device = Device(device.type, device.index or 0)
    return device
