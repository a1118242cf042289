# opt: PackWeights
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    # The LHS is a weight, the RHS an argument: it is packed at each call.
    @T.prim_func(private=True, s_tir=True)
    def product(a: T.handle, B: T.Buffer((T.int64(96), T.int64(220)), "float32"), c: T.handle):
        T.func_attr({"layout_free_buffers": [0], "tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(96)))
        C = T.match_buffer(c, (n, T.int64(220)))
        with T.sblock("root"):
            for i, j, k in T.grid(n, T.int64(220), T.int64(96)):
                with T.sblock("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    T.reads(A[vi, vk], B[vk, vj])
                    T.writes(C[vi, vj])
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @R.function
    def main(x: R.Tensor((n, 96), "float32"), w: R.Tensor((96, 220), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.product, (x, w), R.Tensor((n, 220), "float32"))
            R.output(a)
        return a
