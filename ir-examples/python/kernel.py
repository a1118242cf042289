"""Write a kernel as loops over buffers, call it from a graph, and compare it with NumPy."""

# %% A kernel in TIR. `T.sblock` is the unit of scheduling: its axes are spatial (S) or reductions (R). The sizes n and
# m are symbolic, so that one kernel serves every shape.
import numpy as np

import hammock

KERNEL = """
from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def unit_rows(x: T.Buffer((n, m), "float32"), y: T.Buffer((n, m), "float32")):
        T.func_attr({"tirx.noalias": True})
        squares = T.sblock_alloc_buffer((n,), "float32")
        for i, k in T.grid(n, m):
            with T.sblock("squares"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    squares[vi] = T.float32(0)
                squares[vi] = squares[vi] + x[vi, vk] * x[vi, vk]
        for i, j in T.grid(n, m):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.rsqrt(squares[vi] + T.float32(1e-12))

    @R.function
    def main(a: R.Tensor((n, m), "float32"), b: R.Tensor((n, m), "float32")) -> R.Tensor((n, n), "float32"):
        cls = Module
        with R.dataflow():
            u = R.call_tir(cls.unit_rows, (a,), out_ty=R.Tensor((n, m), "float32"))
            v = R.call_tir(cls.unit_rows, (b,), out_ty=R.Tensor((n, m), "float32"))
            similarity = R.matmul(u, R.permute_dims(v))
            R.output(similarity)
        return similarity
"""
module = hammock.parse(KERNEL)
print(repr(module))

# %% The kernel runs in the middle of a graph, with vectors and threads that the compiler chose.
model = hammock.compile(module)
rng = np.random.default_rng(0)
for shape in [(3, 5), (64, 100), (1, 1), (0, 7)]:
    a, b = rng.standard_normal((2, *shape), dtype="float32")
    unit = [x / np.sqrt(np.sum(x * x, axis=1, keepdims=True) + 1e-12) for x in (a, b)]
    np.testing.assert_allclose(model(a, b), unit[0] @ unit[1].T, rtol=1e-4, atol=1e-5)
    print(f"{shape}: the same as NumPy")

# %% What became of it: the passes fused the kernel with the operators around it.
lowered = hammock.opt(module, opt_level=2)
print({function.name: function.kind for function in lowered.functions.values()})

# %% A mistake is an error with its line, as on the command line.
mistake = KERNEL.replace("squares[vi] + x[vi, vk]", "squares[vi] + x[vi, vk, 0]")
try:
    hammock.parse(mistake)
except hammock.CompileError as error:
    print(error)
    line = error.diagnostics[0].span.line
    assert "x[vi, vk, 0]" in mistake.splitlines()[line - 1]

# %% In a notebook, `module` and its functions show as highlighted programs; `print(module)` prints the text.
print(module["unit_rows"])
