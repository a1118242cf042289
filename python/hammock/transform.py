"""Passes: rewriting modules by those of the compiler and by functions of Python.

`hammock.transform.FuseOps(fuse_opt_level=1)` is a pass with an option. Every pass is callable on a module, and a
member of the lists that `opt` and `compile` take.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hammock import ir
from hammock._hammock import _compiler
from hammock.control import Control
from hammock.diagnostics import CompileError
from hammock.ir import Module

PythonPass = Callable[[Module], Module | str]
"""A pass in Python: it gets a module, and returns one or the text of one."""

Passes = str | PythonPass | Iterable[Any]
"""A list of passes: names, pairs of a name and a dict of options, texts such as `A,B{option=1}`, and callables."""

_DIALECTS = ("tirx.", "s_tir.")


@dataclass(frozen=True)
class PassOption:
    """An option of a pass: its name, what it takes, its default as JSON, and what it does."""

    name: str
    takes: str
    default: str
    doc: str


@dataclass(frozen=True)
class PassInfo:
    """A pass of the compiler: its name, what it does, and its options."""

    name: str
    doc: str
    options: tuple[PassOption, ...]


@dataclass(frozen=True)
class Pass:
    """A pass of the compiler with its options. Calling it with a module returns the rewritten module."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.options, Mapping):
            raise TypeError("a pass is its name, a string, and a dict of options by name")
        _compiler.split_passes(str(self))

    def __call__(self, module: Module) -> Module:
        return opt(module, [self])

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return f"{self.name}{{{','.join(self._option(*entry) for entry in self.options.items())}}}"

    def _option(self, name: str, value: Any) -> str:
        try:
            return f"{name}={json.dumps(value, allow_nan=False)}"
        except (TypeError, ValueError) as error:
            raise TypeError(f"option `{name}` of pass `{self.name}` cannot be {value!r}: {error}") from None


@dataclass(frozen=True)
class Sequential:
    """Passes in a list, as one pass: callable on a module, and a member of other lists."""

    passes: Passes

    def __call__(self, module: Module) -> Module:
        return opt(module, self.passes)


def passes() -> list[PassInfo]:
    """All passes of the compiler, with what they do and their options."""

    def info(name: str, doc: str, options: list[tuple[str, str, str, str]]) -> PassInfo:
        return PassInfo(name, doc, tuple(PassOption(*option) for option in options))

    return [info(*entry) for entry in _compiler.list_passes()]


def opt(
    module: Any,
    passes: Passes = (),
    *,
    opt_level: int | None = None,
    target: str = "native",
    params: Any = None,
    quantize: str | None = None,
    quantize_group: int | None = None,
    quantize_activations: bool = False,
    strict_order: bool = False,
    threads: int | None = None,
    cache: bool = True,
    timeout: float | None = None,
    progress: Callable[[str], object] | None = None,
) -> Module:
    """Runs passes on a module, and returns the result.

    `module` is a `Module`, or a model in any form that `parse` and `import_onnx` read. `passes` are run in order;
    each is a name (`"FuseOps"`), a name with a dict of options (`("FuseOps", {"fuse_opt_level": 1})`), a text
    (`"FuseOps{fuse_opt_level=1}"`, also several with commas), or a callable that gets a module and returns a module
    or its text. What a callable returns is verified. With `opt_level`, 0 to 3, those that compile a module at this
    level follow; the options of quantization and `strict_order` are for them, as in `compile`. `params` are the values
    of parameters that become constants first. `timeout` is a limit in seconds. `progress` is called with a
    text for each pass.

    Raises CompileError if a pass fails, or what a callable returns is not a well-formed module; exceptions of
    callables as they are; TimeoutError.
    """
    control = Control("timeout", timeout, progress)
    options: dict[str, Any] = {"target": target, "threads": threads, "cache": cache, "strict_order": strict_order}
    options |= {"quantize": quantize, "quantize_group": quantize_group, "quantize_activations": quantize_activations}
    steps = split(passes)
    if opt_level is None and (quantize is not None or quantize_activations or strict_order):
        raise TypeError("options of quantization and `strict_order` are for the passes of `opt_level`, which is not given")
    level_passes = _compiler.level_passes(options | {"opt_level": opt_level})
    if opt_level is not None:
        options["opt_level"] = opt_level
        steps.append(",".join(level_passes))
    handle = ir.read(module, {"params": params}, control)
    return Module(run(handle, steps, options, control))


def split(passes: Passes) -> list[str | PythonPass]:
    """A list of passes as texts, each of as many passes as there are in a row, and callables.

    Raises CompileError for an unknown pass or option, TypeError for what is no pass.
    """
    if isinstance(passes, (str, Pass)) or callable(passes):
        passes = [passes]
    if not isinstance(passes, Iterable):
        raise TypeError(f"`passes` is a list of passes, not an object of class {type(passes).__name__}")
    steps: list[str | PythonPass] = []
    for step in passes:
        text = _text(step)
        if text is None:
            steps.append(step)
        elif text and steps and isinstance(steps[-1], str):
            steps[-1] += f",{text}"
        elif text:
            steps.append(text)
    return steps


def _text(step: Any) -> str | None:
    """The text of passes; `None` for a callable."""
    if isinstance(step, str):
        return ",".join(_compiler.split_passes(step))
    if isinstance(step, Pass):
        return str(step)
    if isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str) and isinstance(step[1], Mapping):
        return str(Pass(step[0], step[1]))
    if callable(step):
        return None
    raise TypeError(f"a pass is a name, a pair of a name and a dict of options, or a callable, not {step!r}")


def run(
    handle: _compiler.ModuleHandle, steps: list[str | PythonPass], options: dict[str, Any], control: Control
) -> _compiler.ModuleHandle:
    """Runs the steps of a list that was split."""
    for step in steps:
        if isinstance(step, str):
            handle = _compiler.run_passes(handle, step, options, control.step())
        else:
            control.step()
            control.say(f"pass {_name(step)}")
            handle = _call(step, handle)
    return handle


def _call(step: PythonPass, handle: _compiler.ModuleHandle) -> _compiler.ModuleHandle:
    """Calls a pass in Python, and verifies what it returns."""
    module = Module(handle)
    result = step(module)
    try:
        if isinstance(result, str):
            result = ir.parse(result, constants=module.constants, name=f"<returned by {_name(step)}>")
        elif isinstance(result, Module):
            result._handle.verify()
    except CompileError as error:
        error.add_note(f"the pass `{_name(step)}` returned this module")
        raise
    if not isinstance(result, Module):
        returned = "None" if result is None else f"an object of class {type(result).__name__}"
        raise TypeError(f"the pass `{_name(step)}` returned {returned}; a pass returns a hammock.Module or its text")
    return result._handle.made_from(handle)


def _name(step: PythonPass) -> str:
    return getattr(step, "__name__", None) or type(step).__name__


def _by_name() -> dict[str, str]:
    def plain(name: str) -> str:
        return next((name.removeprefix(dialect) for dialect in _DIALECTS if name.startswith(dialect)), name)

    return {plain(name): name for name, _, _ in _compiler.list_passes()}


def __getattr__(name: str) -> Callable[..., Pass]:
    full = None if name.startswith("_") else _by_name().get(name)
    if full is None:
        raise AttributeError(f"module 'hammock.transform' has no attribute {name!r}, and there is no such pass")

    def make(**options: Any) -> Pass:
        return Pass(full, options)

    info = next(info for info in passes() if info.name == full)
    make.__name__ = make.__qualname__ = name
    make.__doc__ = "\n".join(
        [f"{info.doc}.", *(f"\n`{o.name}={o.default}`: {o.doc}; takes {o.takes}" for o in info.options)]
    )
    return make


def __dir__() -> list[str]:
    return [*globals(), *_by_name()]
