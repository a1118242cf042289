# opt: PackWeights,SplitLayoutRewritePreproc
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Packed groups of four along k; the last group is padded by two, the last block by 28 columns.
    @T.prim_func(private=True, s_tir=True)
    def product(A: T.Buffer((T.int64(33), T.int64(30)), "int8"), B: T.Buffer((T.int64(100), T.int64(30)), "int8"), C: T.Buffer((T.int64(33), T.int64(100)), "int32")):
        T.func_attr({"layout_free_buffers": [1], "tirx.noalias": True})
        with T.sblock("root"):
            for i, j, k in T.grid(T.int64(33), T.int64(100), T.int64(30)):
                with T.sblock("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    T.reads(A[vi, vk], B[vj, vk])
                    T.writes(C[vi, vj])
                    with T.init():
                        C[vi, vj] = 0
                    C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])

    @R.function
    def main(x: R.Tensor((33, 30), "int8"), w: R.Tensor((100, 30), "int8")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.product, (x, w), R.Tensor((33, 100), "int32"))
            R.output(a)
        return a
