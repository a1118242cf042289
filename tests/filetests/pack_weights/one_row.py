# opt: PackWeights
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # The matrix is used once and exceeds the cache: it is packed for contiguous reads.
    @T.prim_func(private=True, s_tir=True)
    def product(A: T.Buffer((T.int64(300),), "float32"), B: T.Buffer((T.int64(300), T.int64(2000)), "float32"), C: T.Buffer((T.int64(2000),), "float32")):
        T.func_attr({"layout_free_buffers": [1], "tirx.noalias": True})
        with T.sblock("root"):
            for j, k in T.grid(T.int64(2000), T.int64(300)):
                with T.sblock("C"):
                    vj, vk = T.axis.remap("SR", [j, k])
                    T.reads(A[vk], B[vk, vj])
                    T.writes(C[vj])
                    with T.init():
                        C[vj] = T.float32(0)
                    C[vj] = C[vj] + A[vk] * B[vk, vj]

    @R.function
    def main(x: R.Tensor((300,), "float32"), w: R.Tensor((300, 2000), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.product, (x, w), R.Tensor((2000,), "float32"))
            R.output(a)
        return a
