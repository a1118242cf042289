"""Modules: programs as the compiler sees them, to read, compare, and rewrite by passes."""

from __future__ import annotations

import difflib
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from hammock._hammock import _compiler
from hammock.control import Control
from hammock.diagnostics import Span
from hammock.highlight import to_html

Shapes = Mapping[str, Sequence["int | str"]]
"""Shapes by input. A name stands for a size that stays open."""


@dataclass(frozen=True)
class Param:
    """A parameter of a function: its name, and its type as text, such as `R.Tensor((n, 4), dtype="float32")`."""

    name: str
    type: str
    span: Span | None = None


@dataclass(frozen=True)
class Binding:
    """A binding `var = value` of a graph. All are texts; `type` is the type of the variable.

    `dataflow` is true inside a dataflow block. The value of a branch or a nested function has several lines.
    """

    var: str
    type: str
    value: str
    dataflow: bool
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.var}: {self.type} = {self.value}"


@dataclass(frozen=True)
class GlobalFunction:
    """A function of a module.

    `kind` is "relax" for a graph of tensor operations, "tir" for a kernel (loops over buffers), "extern" for a
    function that is found by name at run time. Only graphs have `bindings` and a `result`. Spans point into the
    source of the module, where it was read from one: functions that passes make have none.
    """

    name: str
    kind: str
    params: tuple[Param, ...]
    bindings: tuple[Binding, ...]
    result: str | None
    ret_type: str | None
    attrs: Mapping[str, Any] = field(hash=False)
    span: Span | None
    text: str = field(repr=False)

    @property
    def is_private(self) -> bool:
        """True if it cannot be called from outside its module."""
        return self.kind != "extern" and "global_symbol" not in self.attrs

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return to_html(self.text)


class Module:
    """A program: functions by name. Modules do not change; passes make new ones.

    `parse`, `import_onnx` and `opt` return modules. `module["main"]` is a function, and iteration gives their names.
    """

    __slots__ = ("__weakref__", "_functions", "_handle")

    def __init__(self, handle: _compiler.ModuleHandle) -> None:
        if not isinstance(handle, _compiler.ModuleHandle):
            raise TypeError("modules are made by hammock.parse(…) and hammock.import_onnx(…)")
        self._handle = handle
        self._functions: Mapping[str, GlobalFunction] | None = None

    def script(self, show_meta: bool = True) -> str:
        """The program as text, which `parse` reads back.

        Large constants are in a metadata section in front. With `show_meta=False` it is left out: such a text is read
        back with `parse(text, constants=module.constants)`.
        """
        return self._handle.text(show_meta, show_meta)

    @property
    def constants(self) -> list[Any]:
        """The large constants that the text refers to by index, as NumPy arrays that share the memory of the module."""
        return self._handle.constants()

    @property
    def functions(self) -> Mapping[str, GlobalFunction]:
        """The functions by name, in the order of the text."""
        if self._functions is None:
            file = self._handle.source()[0]
            functions = (_function(file, entry) for entry in self._handle.functions())
            self._functions = MappingProxyType({function.name: function for function in functions})
        return self._functions

    @property
    def source(self) -> str:
        """The text that spans point into; for an ONNX model, a list of its nodes."""
        return self._handle.source()[1]

    @property
    def file(self) -> str:
        """The name of that text in messages."""
        return self._handle.source()[0]

    def with_functions(self, text: str) -> Module:
        """This module with other functions: those that `text` defines replace those of the same name, or are added.

        `text` has the definitions without a class around them, as `str(module["main"])` prints them. A function of
        the module is called as `cls.name(…)`, after a line `cls = Module`.

        Raises CompileError if the whole is not a well-formed module.
        """
        blocks = _definitions(textwrap.dedent(text))
        if not blocks:
            raise ValueError("`text` has no function: it begins with `@R.function` or `@T.prim_func`")
        lines = self._handle.in_class().text(True, False).splitlines()
        kept = [line for name, block in _pieces(lines) if name not in blocks for line in block]
        added = [textwrap.indent(block, "    ") for block in blocks.values()]
        whole = "\n".join([*kept, *added, ""])
        return parse(whole, constants=self.constants, name="<with_functions>")

    def __getitem__(self, name: str) -> GlobalFunction:
        try:
            return self.functions[name]
        except KeyError:
            raise KeyError(_unknown(name, self.functions)) from None

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __str__(self) -> str:
        return self.script(show_meta=False)

    def __repr__(self) -> str:
        functions = (f"{function.kind} {name}" for name, function in self.functions.items())
        return f"<hammock.Module: {', '.join(functions)}>"

    def _repr_html_(self) -> str:
        return to_html(str(self))

    def __copy__(self) -> Module:
        return self

    def __deepcopy__(self, _: object) -> Module:
        return self

    def __reduce__(self) -> tuple[Callable[[str], Module], tuple[str]]:
        return _restore, (self.script(),)


def parse(
    model: Any,
    module: str | None = None,
    name: str | None = None,
    *,
    params: Any = None,
    constants: Sequence[Any] | None = None,
    timeout: float | None = None,
    progress: Callable[[str], object] | None = None,
) -> Module:
    """Reads and verifies a text module: a text of several lines, or the path of a file (which may be an ONNX model,
    too).

    `module` is the class to read, if the text has several. `name` names a text in messages. `params` are the values
    of parameters that become constants: a dict of arrays by name, the path of a safetensors or npz file, or "zeros".
    `constants` are those that a text refers to by index and leaves out (`Module.constants`). `timeout` is a limit in
    seconds. `progress` is called with a text for each stage.

    Raises CompileError with all that is wrong; warns with CompileWarning. Raises OSError if there is no such file.
    """
    if constants is not None:
        if params is not None:
            raise TypeError("`params` and `constants` exclude each other")
        params = {str(index): constant for index, constant in enumerate(constants)}
    options = {"module": module, "name": name, "params": params}
    return Module(read(model, options, Control("timeout", timeout, progress)))


def import_onnx(
    model: Any,
    *,
    shapes: Shapes | None = None,
    params: Any = None,
    overridable: Sequence[str] | None = None,
    data_folders: Sequence[str | os.PathLike[str]] | None = None,
    name: str | None = None,
    timeout: float | None = None,
    progress: Callable[[str], object] | None = None,
) -> Module:
    """Imports an ONNX model: the path of a file, its bytes, or an `onnx.ModelProto`. Its weights are constants of the
    module.

    `shapes` are those of inputs whose sizes or rank the model leaves open, such as `{"x": (1, 3, "n", "n")}`, with a
    name for each size that stays open. `overridable` are inputs with a default value that stay parameters.
    `data_folders` are folders that links to external data may lead to. The other options are those of `parse`.

    Raises CompileError if the model cannot be imported.
    """
    options = {"shapes": shapes, "params": params, "overridable": to_list("overridable", overridable), "name": name}
    options["data_folders"] = to_list("data_folders", data_folders)
    return Module(read(model, options, Control("timeout", timeout, progress)))


def structural_equal(a: Module, b: Module) -> bool:
    """True if two modules are the same except for names of variables, the order of functions, and locations in a text."""
    return difference(a, b) is None


def assert_structural_equal(a: Module, b: Module) -> None:
    """Raises AssertionError with the first difference unless the modules are structurally equal."""
    found = difference(a, b)
    if found is not None:
        raise AssertionError(f"the modules differ at {found}")


def structural_hash(module: Module) -> int:
    """A hash that is the same for modules that are structurally equal, in every process."""
    return _handle(module).hash()


def difference(a: Module, b: Module) -> str | None:
    """Where two modules first differ and how, as text; `None` if they are structurally equal."""
    return _handle(a).difference(_handle(b))


def read(model: Any, options: dict[str, Any], control: Control) -> _compiler.ModuleHandle:
    """The module of a model in any form: a text, a path, bytes, an `onnx.ModelProto` or a module."""
    if isinstance(model, Module):
        model = model._handle
        own = ("params", "for_program")
        given = [option for option, value in options.items() if value is not None and option not in own]
        if given:
            raise TypeError(f"`{given[0]}` is for models that are read, and this one is a hammock.Module already")
    elif hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    elif hasattr(model, "state_dict"):
        raise TypeError("modules of torch are compiled by hammock.torch.compile(model, example_inputs)")
    return _compiler.read(model, options, control.step())


def _handle(module: Module) -> _compiler.ModuleHandle:
    if not isinstance(module, Module):
        raise TypeError(
            f"expected a hammock.Module, not an object of class {type(module).__name__}: hammock.parse(…) makes one"
        )
    return module._handle


def to_list(name: str, values: Sequence[Any] | None) -> list[Any] | None:
    """The members of a list that was given for an option."""
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"`{name}` is a list, not an object of class {type(values).__name__}")
    return list(values)


def _restore(text: str) -> Module:
    return parse(text, name="<pickle>")


def _function(file: str, entry: dict[str, Any]) -> GlobalFunction:
    def span(location: tuple[int, int, int, int] | None) -> Span | None:
        return None if location is None else Span(file, *location)

    params = tuple(Param(name, ty, span(location)) for name, ty, location in entry["params"])
    bindings = tuple(
        Binding(var, ty, value, dataflow, span(location)) for var, ty, value, dataflow, location in entry["bindings"]
    )
    attrs = MappingProxyType(entry["attrs"])
    texts = {key: entry[key] for key in ("name", "kind", "result", "ret_type", "text")}
    return GlobalFunction(params=params, bindings=bindings, attrs=attrs, span=span(entry["span"]), **texts)


def _unknown(name: object, names: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(str(name), names, 1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    return f"the module has no function `{name}`, only {', '.join(names)}{hint}"


def _pieces(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """The lines of a printed module, in pieces: each function with its name, and what is between them."""
    at = 0
    while at < len(lines):
        end = at + 1
        name = None
        if lines[at].startswith("    @"):
            name = lines[at + 1].strip().removeprefix("def ").partition("(")[0]
            end = at + 2
            while end < len(lines) and (not lines[end] or lines[end].startswith("        ")):
                end += 1
        yield name, lines[at:end]
        at = end


def _definitions(text: str) -> dict[str, str]:
    """The functions that a text defines without a class, by name."""
    blocks: dict[str, list[str]] = {}
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith("@"):
            block = [line]
        elif line.startswith("def ") and block:
            blocks[line.removeprefix("def ").partition("(")[0].strip()] = block
            block.append(line)
        elif line.startswith(("class ", "metadata")):
            raise ValueError("`text` has only functions; hammock.parse(…) reads whole modules")
        else:
            block.append(line)
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in blocks.items()}


for _class in (Module, GlobalFunction, Binding, Param):
    _class.__module__ = "hammock"
