"""Compiling models to programs that run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hammock import ir, transform
from hammock._hammock import Model, _compiler
from hammock.control import Control

Path = str | os.PathLike[str]


def compile(
    model: Any,
    *,
    params: Any = None,
    target: str = "native",
    opt_level: int = 2,
    quantize: str | None = None,
    quantize_group: int | None = None,
    quantize_activations: bool = False,
    threads: int | None = None,
    passes: transform.Passes = (),
    module: str | None = None,
    shapes: ir.Shapes | None = None,
    overridable: Sequence[str] | None = None,
    data_folders: Sequence[Path] | None = None,
    exec_mode: str = "bytecode",
    strict_order: bool = False,
    libs: Sequence[str] = (),
    allow_tf32: bool = False,
    bounds: str = "checked",
    plans: Path | None = None,
    tune: float | None = None,
    tune_file: Path | None = None,
    tune_sizes: int | Mapping[str, int] | None = None,
    multi_version: bool | Sequence[str] | None = None,
    output: Path | None = None,
    external_weights: Path | None = None,
    cache: bool = True,
    compile_timeout: float | None = None,
    progress: Callable[[str], object] | None = None,
    returns: str = "numpy",
    timeout: float | None = None,
    max_memory: int | None = None,
    device: Any = None,
) -> Model:
    """Compiles a model, and returns it ready to run.

    `model` is the path of an ONNX or text file, a text of several lines, an ONNX model as bytes or `onnx.ModelProto`,
    or a `Module`.

    What is compiled:
      `params`: values of parameters that are weights: a dict of arrays by name, or the path of a safetensors or npz
        file; "zeros" for constants that a text leaves out, if only speed matters.
      `module`: the class to read, if a text has several.
      `shapes`, `overridable`, `data_folders`: for ONNX models, as in `import_onnx`.

    How:
      `target`: the CPU: "native", or a name such as "x86-64-v3" (`hammock targets` lists them); or NVIDIA GPUs: "cuda", or
        those from a compute capability on, "cuda:sm_90".
      `multi_version`: True or a list of CPUs: kernels for each, and the best match is picked at load time.
      `opt_level`: from 0 to 3.
      `passes`: passes to run before those of the level, as in `opt`.
      `quantize`: "int8" or "int4", for the constant weights of matmuls; `quantize_group` is the number of rows that
        share a scale.
      `quantize_activations`: int8 activations for matmuls by quantized weights, scaled at run time.
      `exec_mode`: how graphs run: "bytecode", "compiled" to machine code, or "compiled=f,g" for these functions only.
      `strict_order`: keep the program's order of additions; slower.
      `libs`: libraries of the GPU's vendor that compute what they can: ["cublas"] for matmuls.
      `allow_tf32`: let tensor cores of a GPU multiply float32, rounded to tf32; much faster.
      `bounds`: "checked", or "unchecked" if the caller guarantees that every access is in bounds.
      `plans`: the path of a file of plans for kernels, as `hammock opt --print-plans` prints them.
      `tune`: time alternative plans for about this number of seconds, and keep the fastest; `tune_file` is a file of tuned
        plans to use, and with `tune` to extend; `tune_sizes` are the dynamic sizes to tune for.
      `threads`: the number of threads to compile with, and that kernels are planned for.
      `cache`: False neither reads nor writes the kernel cache.
      `compile_timeout`: limit in seconds for compiling. Ctrl-C stops it as well.
      `progress`: a callable that gets a text for each stage and pass.

    What is made:
      `output`: a file to write the model to, as `Model.save` does; `external_weights` is a safetensors file next to
        it that gets the weights, which processes then share.
      `returns`, `timeout`, `max_memory`, `device`: those of `load`.

    Raises CompileError, which shows the line of the model that is wrong; TimeoutError; OSError if there is no such
    file; TypeError and ValueError for options that are wrong. Warns with CompileWarning.
    """
    control = Control("compile_timeout", compile_timeout, progress)
    options = {
        "target": target,
        "opt_level": opt_level,
        "quantize": quantize,
        "quantize_group": quantize_group,
        "quantize_activations": quantize_activations,
        "threads": threads,
        "exec_mode": exec_mode,
        "strict_order": strict_order,
        "libs": ir.to_list("libs", libs),
        "allow_tf32": allow_tf32,
        "bounds": bounds,
        "plans": plans,
        "tune": tune,
        "tune_file": tune_file,
        "tune_sizes": tune_sizes,
        "multi_version": multi_version,
        "output": output,
        "external_weights": external_weights,
        "cache": cache,
    }
    steps = transform.split(passes)
    last = steps[-1] if steps and isinstance(steps[-1], str) else ""
    if last:
        steps.pop()
    # Wrong options are found before anything is read.
    _compiler.level_passes(options)
    source = {
        "params": params,
        "module": module,
        "shapes": shapes,
        "overridable": ir.to_list("overridable", overridable),
        "data_folders": ir.to_list("data_folders", data_folders),
        "for_program": True,
    }
    handle = transform.run(ir.read(model, source, control), steps, options, control)
    return _compiler.build(handle, last, options, control.step(), returns, (timeout, max_memory, device))
