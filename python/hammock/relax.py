"""The virtual machine under the names that TVM gives it: code for `tvm.relax` runs after a change of its imports.

import hammock as tvm
from hammock import relax

executable = relax.build(module, target="llvm")
vm = relax.VirtualMachine(executable, tvm.cpu())
y = vm["main"](x).numpy()
"""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Callable
from typing import Any

from hammock import _hammock
from hammock.device import Device, to_device

__all__ = ["BenchmarkResult", "Executable", "VMInstrumentReturnKind", "VirtualMachine", "build"]


class VMInstrumentReturnKind(enum.IntEnum):
    """What an instrument returns before a call."""

    NO_OP = 0
    """The call runs."""
    SKIP_RUN = 1
    """The call is skipped."""


class Executable:
    """A compiled module, as `build` returns it."""

    def __init__(self, model: _hammock.Model):
        self.model = model
        """The module as a `hammock.Model`."""

    def export_library(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file, which `hammock.load`, `VirtualMachine` and `hammock run` read."""
        self.model.save(path)

    def __repr__(self) -> str:
        return f"<hammock.relax.Executable of {self.model!r}>"


def build(module: Any, target: Any = None, params: Any = None, **options: Any) -> Executable:
    """Compiles a module: a text, the path of a file, or an object with `script()`.

    `target` is a name that `hammock.compile` knows, or one of TVM's for LLVM, such as "llvm -mcpu=x86-64-v3"; `params`
    and the options are those of `hammock.compile`. Raises CompileError.
    """
    if hasattr(module, "script"):
        module = module.script()
    name = "native" if target is None else str(target)
    if name == "llvm" or name.startswith("llvm "):
        cpu = [flag.removeprefix("-mcpu=") for flag in name.split() if flag.startswith("-mcpu=")]
        name = cpu[0] if cpu else "native"
    if not hasattr(_hammock, "_compiler"):
        raise ImportError("this is the package hammock-runtime, which has no compiler; `pip install hammock` has both")
    from hammock.compiler import compile as compile_model

    return Executable(compile_model(module, target=name, params=params, **options))


class BenchmarkResult:
    """Seconds per call, one figure for each repeat, as `time_evaluator` measured them."""

    def __init__(self, results: list[float]):
        self.results = results
        """The figures of the repeats."""

    @property
    def mean(self) -> float:
        """The mean of the repeats."""
        return math.fsum(self.results) / len(self.results)

    @property
    def median(self) -> float:
        """The median of the repeats."""
        ordered, middle = sorted(self.results), len(self.results) // 2
        return (ordered[middle] + ordered[-middle - 1]) / 2

    @property
    def std(self) -> float:
        """The standard deviation of the repeats."""
        mean = self.mean
        return math.sqrt(math.fsum((result - mean) ** 2 for result in self.results) / len(self.results))

    @property
    def min(self) -> float:
        """The fastest repeat."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The slowest repeat."""
        return max(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        return "\n".join(f"{name:>8} {getattr(self, name) * 1e3:12.4f} ms" for name in names)

    def __repr__(self) -> str:
        return f"BenchmarkResult(mean={self.mean:.3e}, median={self.median:.3e}, results={self.results})"


class VirtualMachine:
    """Runs a module. Tensors among results are objects of the class `hammock.Tensor`.

    `rt_mod` is an `Executable`, a `hammock.Model`, or the path of a compiled model; `device` is a
    device or a list of them, by default those of the model. `memory_cfg` is "pooled" or "naive": whether released memory is cached for the next allocation. The
    machine's inputs, outputs, saved functions and instrument are its own.

    Raises ValueError for a device that is not present or that the model is not compiled for, and RuntimeError for a GPU
    without a driver.
    """

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(
        self,
        rt_mod: Executable | _hammock.Model | str | os.PathLike[str],
        device: Device | str | list[Device | str] | tuple[Device | str, ...] | None = None,
        memory_cfg: str | dict[Any, str] | None = None,
        profile: bool = False,
    ):
        given = device if isinstance(device, (list, tuple)) else [] if device is None else [device]
        devices = [to_device(each) for each in given]
        if isinstance(rt_mod, Executable):
            rt_mod = rt_mod.model
        elif not isinstance(rt_mod, _hammock.Model):
            rt_mod = _hammock.load(rt_mod)
        self._machine = _hammock._Machine(rt_mod, is_pooled=_is_pooled(memory_cfg), devices=devices)
        self._model = self._machine.model

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function `name` of the module, or a saved one. Raises AttributeError if there is none."""
        if name not in self._model and (saved := self._machine.saved(name)) is not None:
            return saved
        function: Callable[..., Any] = getattr(self._model, name)
        return function

    def invoke_closure(self, closure: Any, *args: Any) -> Any:
        """Calls a closure that a function of the module returned."""
        return self._machine.invoke_closure(closure, *args)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Sets all inputs of a function for `invoke_stateful`, by position or by name. Their memory is shared."""
        self._machine.set_input(func_name, *args, **kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        """Calls a function with the inputs that were set. Raises ValueError if one was not."""
        self._machine.invoke_stateful(func_name)

    def get_outputs(self, func_name: str) -> Any:
        """The result of `invoke_stateful`: a tensor, or a tuple of them."""
        return self._machine.output(func_name)

    def save_function(
        self, func_name: str, saved_name: str, *args: Any, include_return: bool = True, **kwargs: Any
    ) -> None:
        """Saves a call with these arguments as the function `saved_name` without parameters, such as for timing.

        Without `include_return`, the function returns None.
        """
        self._machine.save_function(func_name, saved_name, *args, include_return=include_return, **kwargs)

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval_ms: int = 0,
    ) -> Callable[..., BenchmarkResult]:
        """Returns a callable that times a function: `vm.time_evaluator("main", dev)(x).mean` is in seconds.

        After one call to warm up, there are `repeat` repeats of `number` calls each; a repeat that takes less than
        `min_repeat_ms` is repeated with more calls. Between repeats are pauses of `cooldown_interval_ms`.
        "invoke_stateful" times a stateful call of the function whose name the callable is given.
        """
        if dev is not None:
            to_device(dev)
        how: dict[str, Any] = {"number": number, "repeat": repeat, "min_repeat_ms": min_repeat_ms}
        how["cooldown_interval_ms"] = cooldown_interval_ms

        def evaluate(*args: Any) -> BenchmarkResult:
            if func_name == "invoke_stateful" and func_name not in self._model:
                return BenchmarkResult(self._machine.time_stateful(*args, **how))
            return BenchmarkResult(self._machine.time(func_name, *args, **how))

        return evaluate

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        """Sets a callable that is called before and after every call that the module makes; None removes it.

        It receives `(function, name, before_run, result, *args)`. If it returns `VMInstrumentReturnKind.SKIP_RUN`
        before a call, the call is skipped. Tensors are given to it as `hammock.Tensor`.
        """
        self._machine.set_instrument(instrument)


def _is_pooled(memory_cfg: str | dict[Any, str] | None) -> bool:
    kinds = set(memory_cfg.values()) if isinstance(memory_cfg, dict) else {memory_cfg}
    if unknown := kinds - {None, "pooled", "naive"}:
        raise ValueError(f'`memory_cfg` is "pooled" or "naive", not {unknown.pop()!r}')
    return "naive" not in kinds
