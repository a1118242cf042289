# opt: AttachAttrLayoutFreeBuffers
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def matmul(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(8)))
        B = T.match_buffer(b, (T.int64(8), T.int64(8)))
        C = T.match_buffer(c, (n, T.int64(8)))
        for i, j, k in T.grid(n, T.int64(8), T.int64(8)):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    # The number of inputs is not declared: no parameter is a weight.
    @R.function
    def main(x: R.Tensor((n, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        cls = Module
        a = R.call_tir(cls.matmul, (x, w), R.Tensor((n, 8), "float32"))
        return a
