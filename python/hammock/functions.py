"""Global functions: Python callables, and functions in C, that models call by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from hammock import _hammock

Function = Callable[..., Any]


def register_global_func(
    name: str | Function,
    f: Function | None = None,
    override: bool = False,
    *,
    receives: Literal["numpy", "tensor", "torch"] = "numpy",
) -> Function:
    """Registers a callable as the global function `name`, for models that are loaded afterwards.

        @hammock.register_global_func("my.scale")
        def scale(x, factor, out):
            out[...] = x * factor

    Without `name`, it is registered under its own name. `override=True` replaces a function of that name. `receives`
    says how the callable receives tensors: see `hammock.convert`. A callable that raises an exception ends the call of
    the model with that exception, whose notes name the lines of the model. It is called on any thread, and may call
    models. Neither `timeout` nor `Interrupt` end a callable that never returns.

    Returns the callable. Raises ValueError if the name is taken, TypeError if `f` is not callable.
    """
    if callable(name):
        return register_global_func(name.__name__, name, override, receives=receives)
    if not isinstance(name, str):
        raise TypeError(f"the name of a global function is a string, not {type(name).__name__}")

    def register(f: Function) -> Function:
        _hammock._register_function(name, f, override, receives)
        return f

    return register if f is None else register(f)
