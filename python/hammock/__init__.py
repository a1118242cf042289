"""Compiles machine-learning models to small, fast, self-contained programs, and runs them.

>>> import hammock
>>> model = hammock.compile("model.onnx")
>>> y = model(x)
>>> model.save("model.so")
>>> model = hammock.load("model.so")
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if "t" in getattr(_sys, "abiflags", ""):
    raise ImportError(
        "hammock does not support free-threaded Python yet: its module has the stable ABI, which that lacks"
    )

from hammock import _hammock, relax as relax
from hammock._hammock import *  # noqa: F403
from hammock._hammock import __version__ as __version__
from hammock.device import Device as Device, cpu as cpu, cuda as cuda
from hammock.functions import register_global_func as register_global_func
from hammock.relax import build as build

if TYPE_CHECKING:
    from hammock import transform as transform
    from hammock.compiler import compile as compile
    from hammock.diagnostics import (
        CompileError as CompileError,
        CompileWarning as CompileWarning,
        Diagnostic as Diagnostic,
        Fix as Fix,
        Label as Label,
        Span as Span,
    )
    from hammock.ir import (
        Binding as Binding,
        GlobalFunction as GlobalFunction,
        Module as Module,
        Param as Param,
        assert_structural_equal as assert_structural_equal,
        import_onnx as import_onnx,
        parse as parse,
        structural_equal as structural_equal,
        structural_hash as structural_hash,
    )
    from hammock.transform import opt as opt, passes as passes

# Where the names of the compiler are. They are imported at their first use: programs that only run models do without.
_COMPILER = {
    "compiler": ("compile",),
    "diagnostics": ("CompileError", "CompileWarning", "Diagnostic", "Fix", "Label", "Span"),
    "ir": ("Binding", "GlobalFunction", "Module", "Param", "assert_structural_equal", "import_onnx", "parse")
    + ("structural_equal", "structural_hash"),
    "transform": ("opt", "passes"),
}
_LAZY = (
    {name: module for module, names in _COMPILER.items() for name in names} if hasattr(_hammock, "_compiler") else {}
)


def __getattr__(name: str) -> object:
    if name == "transform" and _LAZY:
        return _import_module("hammock.transform")
    if name not in _LAZY:
        message = f"module 'hammock' has no attribute {name!r}"
        if not _LAZY and not name.startswith("_"):
            message += ": this is the package hammock-runtime, which has no compiler; `pip install hammock` has both"
        raise AttributeError(message, name=name)
    value = globals()[name] = getattr(_import_module(f"hammock.{_LAZY[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
