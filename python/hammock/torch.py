"""torch modules compiled by Hammock: through `torch.export` and ONNX, with torch tensors in and out.

    >>> import hammock.torch
    >>> fast = hammock.torch.compile(model.eval(), (example,))
    >>> y = fast(x)

`torch.compile(model, backend="hammock")` works as well, once this module is imported.
"""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import hammock
from hammock import ir

try:
    import torch
    from torch.export import ExportedProgram
    from torch.utils import _pytree as pytree
    from torch.utils.dlpack import from_dlpack
except ImportError as error:
    raise ImportError(f"hammock.torch needs torch 2.6 or later (`pip install torch`): {error}") from error

_MAX_IN_MEMORY = 1 << 30
"""Bytes of weights up to which a model is passed on in memory; protobuf has no messages of 2 GiB and more."""


class CompiledModule:
    """A torch module that was compiled. It is called as the module was when it was exported.

    Arguments are tensors on the CPU, and results too. They are neither copied nor converted, unless an argument is not
    contiguous. Results have no gradients. `model` is the `hammock.Model`, to save or profile it.
    """

    def __init__(self, model: hammock.Model, program: ExportedProgram) -> None:
        self.model = model
        self._in_spec, self._out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        _, named = pytree.tree_unflatten([None] * self._in_spec.num_leaves, self._in_spec)
        self._names = list(named)
        self._inputs = [spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        self._outputs = [spec.arg for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs it; the arguments have the structure of the example inputs."""
        return self._unflatten(self.model(*self._flatten(args, kwargs)))

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = self._names
        if len(names) != len(kwargs) or any(name not in kwargs for name in names):
            raise TypeError(
                f"the module was exported with the named arguments {names}, and was called with {[*kwargs]}"
            )
        leaves, spec = pytree.tree_flatten((args, {name: kwargs[name] for name in names}))
        if spec != self._in_spec:
            raise TypeError(f"the module was exported for arguments of the structure {self._in_spec}, not {spec}")
        given = zip(self._inputs, leaves, strict=True)
        return [_argument(arg.name, leaf) for arg, leaf in given if not _is_constant(arg, leaf)]

    def _unflatten(self, results: Any) -> Any:
        tensors = iter(results if isinstance(results, tuple) else (results,))
        leaves = [arg.value if hasattr(arg, "value") else from_dlpack(next(tensors)) for arg in self._outputs]
        return pytree.tree_unflatten(leaves, self._out_spec)

    def __repr__(self) -> str:
        return f"<hammock.torch.CompiledModule {self.model!r}>"


def compile(
    model: torch.nn.Module | ExportedProgram,
    example_inputs: Sequence[Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    example_kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> CompiledModule:
    """Compiles a torch module, or an exported program.

    `example_inputs` is a tuple of positional arguments, `example_kwargs` a dict of named ones: their shapes are those
    that the module is compiled for. `dynamic_shapes` says which sizes stay open, as for `torch.export.export`: `({0:
    torch.export.Dim("batch")},)`. Other options are those of `hammock.compile`.

    Raises CompileError for operators that are not supported, and the errors of `torch.export.export`.
    """
    if "returns" in options:
        raise TypeError("compiled torch modules return torch tensors; leave out `returns`")
    program = _exported(model, example_inputs, dynamic_shapes, example_kwargs)
    compiled = hammock.compile(from_exported_program(program), returns="tensor", **options)
    return CompiledModule(compiled, program)


def from_exported_program(program: ExportedProgram, **options: Any) -> ir.Module:
    """The module of a program that `torch.export.export` returned. Options are those of `hammock.import_onnx`.

    Parameters and buffers of the torch module are constants.
    """
    if not isinstance(program, ExportedProgram):
        name = type(program).__name__
        raise TypeError(
            f"expected a torch.export.ExportedProgram, not an object of class {name}: torch.export.export makes one"
        )
    if importlib.util.find_spec("onnxscript") is None:
        raise ImportError("torch exports ONNX models by the package onnxscript: `pip install onnxscript`")
    exported = torch.onnx.export(program, (), dynamo=True, verbose=False)
    assert exported is not None, "with `dynamo=True`, torch returns the program"
    # Changes are explicit only once operators are decomposed.
    signature = (exported.exported_program or program).graph_signature
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if changed:
        raise ValueError(f"the module changes {', '.join(changed)} when it runs; call `eval()` before it is exported")
    state = program.state_dict.values()
    if sum(tensor.nbytes for tensor in state) <= _MAX_IN_MEMORY:
        options.setdefault("name", "<torch>")
        return ir.import_onnx(exported.model_proto, **options)
    with tempfile.TemporaryDirectory(prefix="hammock-") as folder:
        path = Path(folder, "model.onnx")
        exported.save(str(path), external_data=True)
        return ir.import_onnx(path, **options)


def backend(
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """The backend of `torch.compile(model, backend="hammock", options={…})`, for inference: under `torch.no_grad()`.

    `options` are those of `hammock.compile`. Parameters of the module become constants: changes of them have no effect.
    """
    if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in example_inputs):
        raise RuntimeError("the backend `hammock` computes no gradients: run the module under torch.no_grad()")
    if mode is not None:
        raise ValueError(
            f"the backend `hammock` has no modes, such as {mode!r}: `options` are those of hammock.compile"
        )
    traced = _Traced(graph, example_inputs)
    inputs = [example_inputs[at] for at in traced.positions]
    # Exporting must not add guards to what is being traced.
    with torch._guards.tracing(None):
        compiled = compile(traced, inputs, traced.dynamic_shapes, **(options or {}))

    def run(*args: Any) -> Any:
        return compiled(*(args[at] for at in traced.positions))

    return run


class _Traced(torch.nn.Module):
    """A graph that `torch.compile` traced. Its parameters are constants, and sizes are those of its inputs."""

    def __init__(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> None:
        super().__init__()
        self.graph_module = graph
        nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
        examples = [node.meta.get("example_value", node.meta.get("val")) for node in nodes]
        self._constants = [at for at, value in enumerate(example_inputs) if isinstance(value, torch.nn.Parameter)]
        self._sizes = {at: _axis_of(value, examples) for at, value in enumerate(examples) if _is_symbolic(value)}
        for at in self._constants:
            self.register_buffer(f"constant_{at}", example_inputs[at].detach())
        derived = {*self._constants, *self._sizes}
        self.positions = [at for at in range(len(nodes)) if at not in derived]
        """Positions of the inputs that a call gives."""
        self.dynamic_shapes = _dynamic_shapes([examples[at] for at in self.positions])
        """The sizes of these inputs that stay open, in the form of `torch.export`; `None` if there are none."""
        self.eval()

    def forward(self, *inputs: Any) -> Any:
        args = dict(zip(self.positions, inputs, strict=True))
        args |= {at: getattr(self, f"constant_{at}") for at in self._constants}
        args |= {at: args[tensor].shape[axis] for at, (tensor, axis) in self._sizes.items()}
        return self.graph_module(*(args[at] for at in sorted(args)))


def _is_symbolic(size: Any) -> bool:
    return isinstance(size, torch.SymInt)


def _axis_of(size: torch.SymInt, examples: Sequence[Any]) -> tuple[int, int]:
    """Position of an input that has this size, and the axis."""
    tensors = ((at, value.shape) for at, value in enumerate(examples) if isinstance(value, torch.Tensor))
    axes = ((at, axis) for at, shape in tensors for axis, other in enumerate(shape) if str(other) == str(size))
    found = next(axes, None)
    if found is None:
        raise ValueError(f"no argument of the module has the size {size}: compile it with `dynamic=False`")
    return found


def _dynamic_shapes(examples: Sequence[Any]) -> Any:
    def of_input(value: Any) -> Any:
        sizes = value.shape if isinstance(value, torch.Tensor) else ()
        return {axis: torch.export.Dim.DYNAMIC for axis, size in enumerate(sizes) if _is_symbolic(size)} or None

    found = tuple(of_input(value) for value in examples)
    return (found,) if any(found) else None


def _exported(
    model: Any, inputs: Sequence[Any] | None, dynamic_shapes: Any, kwargs: Mapping[str, Any] | None
) -> ExportedProgram:
    if isinstance(model, ExportedProgram):
        if not (inputs is None and dynamic_shapes is None and kwargs is None):
            raise TypeError("an exported program has its inputs; leave out the example inputs and dynamic shapes")
        return model
    if not isinstance(model, torch.nn.Module):
        raise TypeError(
            f"`model` is a torch.nn.Module or an exported program, not an object of class {type(model).__name__}"
        )
    if inputs is None and kwargs is None:
        raise TypeError("`example_inputs` is missing: a tuple of arguments, such as (torch.zeros(1, 3, 224, 224),)")
    if isinstance(inputs, torch.Tensor):
        raise TypeError("`example_inputs` is a tuple of arguments: write (x,) for one")
    if model.training:
        message = "the torch module is in training mode, where dropout and normalization differ; call `eval()` first"
        warnings.warn(message, UserWarning, stacklevel=3)
    with torch.no_grad():
        return torch.export.export(
            model, tuple(inputs or ()), dict(kwargs or {}), dynamic_shapes=dynamic_shapes, strict=False
        )


def _is_constant(arg: Any, value: Any) -> bool:
    """True for an argument that was compiled into the program: it must have the value that it had then."""
    if not hasattr(arg, "value"):
        return False
    if isinstance(value, torch.Tensor) or value != arg.value:
        raise ValueError(f"`{arg.name}` was {arg.value!r} when the module was exported, and cannot be {value!r}")
    return True


def _argument(name: str, value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.device.type != "cpu":
        raise ValueError(
            f"`{name}` is on the device {value.device}, and the module runs on the CPU: pass `{name}.cpu()`"
        )
    return value.detach().contiguous()


torch._dynamo.register_backend(compiler_fn=backend, name="hammock")
