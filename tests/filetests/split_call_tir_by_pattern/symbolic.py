# opt: SplitCallTIRByPattern{patterns="tests/filetests/split_call_tir_by_pattern/kernels/library.py"},DeadCodeElimination
# The size of the matmul comes from the call; the constants are 2, written first, and 0, not written.
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scaled(a: T.handle, w: T.Buffer((T.int64(8), T.int64(16)), "float32"), c: T.handle):
        m = T.int64()
        x = T.match_buffer(a, (m, T.int64(8)), "float32")
        y = T.match_buffer(c, (m, T.int64(16)), "float32")
        P = T.sblock_alloc_buffer((m, T.int64(16)), "float32")
        S = T.sblock_alloc_buffer((m, T.int64(16)), "float32")
        for i, j, k in T.grid(m, T.int64(16), T.int64(8)):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    P[vi, vj] = T.float32(0)
                P[vi, vj] = P[vi, vj] + x[vi, vk] * w[vk, vj]
        for i, j in T.grid(m, T.int64(16)):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                S[vi, vj] = T.float32(2) * P[vi, vj]
        for i, j in T.grid(m, T.int64(16)):
            with T.sblock("exp"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.exp(S[vi, vj])

    @R.function
    def main(x: R.Tensor((n, 8), "float32"), w: R.Tensor((8, 16), "float32")) -> R.Tensor((n, 16), "float32"):
        cls = Module
        y = R.call_tir(cls.scaled, (x, w), out_ty=R.Tensor((n, 16), "float32"))
        return y
