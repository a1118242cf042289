# opt: AttachAttrLayoutFreeBuffers
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

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

    # Two calls with a weight as second argument share a kernel; one without weights and one with two get their own.
    @R.function
    def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32"), v: R.Tensor((8, 8), "float32")):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.matmul, (x, w), R.Tensor((8, 8), "float32"))
            b = R.call_tir(cls.matmul, (a, v), R.Tensor((8, 8), "float32"))
            c = R.call_tir(cls.matmul, (b, a), R.Tensor((8, 8), "float32"))
            d = R.call_tir(cls.matmul, (w, v), R.Tensor((8, 8), "float32"))
            e = R.call_tir(cls.matmul, (c, d), R.Tensor((8, 8), "float32"))
            R.output(e)
        return e
