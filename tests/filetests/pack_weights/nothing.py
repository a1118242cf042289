# opt: PackWeights
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Few rows use the weights: they are not packed. The attribute is removed.
    @T.prim_func(private=True, s_tir=True)
    def product(A: T.Buffer((T.int64(2), T.int64(96)), "float32"), B: T.Buffer((T.int64(96), T.int64(256)), "float32"), C: T.Buffer((T.int64(2), T.int64(256)), "float32")):
        T.func_attr({"layout_free_buffers": [1], "tirx.noalias": True})
        with T.sblock("root"):
            for i, j, k in T.grid(T.int64(2), T.int64(256), T.int64(96)):
                with T.sblock("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    T.reads(A[vi, vk], B[vk, vj])
                    T.writes(C[vi, vj])
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @R.function
    def main(x: R.Tensor((2, 96), "float32"), w: R.Tensor((96, 256), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.product, (x, w), R.Tensor((2, 256), "float32"))
            R.output(a)
        return a
