# opt: SplitCallTIRByPattern{patterns="tests/filetests/split_call_tir_by_pattern/kernels/library.py"},DeadCodeElimination
# The epilogue of the matmul stays a kernel; the bias is a separate argument.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fused(x: T.Buffer((T.int64(4), T.int64(8)), "float32"), w: T.Buffer((T.int64(8), T.int64(16)), "float32"), b: T.Buffer((T.int64(16),), "float32"), y: T.Buffer((T.int64(4), T.int64(16)), "float32")):
        P = T.sblock_alloc_buffer((T.int64(4), T.int64(16)), "float32")
        S = T.sblock_alloc_buffer((T.int64(4), T.int64(16)), "float32")
        for i, j, k in T.grid(T.int64(4), T.int64(16), T.int64(8)):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    P[vi, vj] = T.float32(0)
                P[vi, vj] = P[vi, vj] + x[vi, vk] * w[vk, vj]
        for i, j in T.grid(T.int64(4), T.int64(16)):
            with T.sblock("bias"):
                vi, vj = T.axis.remap("SS", [i, j])
                S[vi, vj] = P[vi, vj] + b[vj]
        for i, j in T.grid(T.int64(4), T.int64(16)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(S[vi, vj], T.float32(0))

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 16), "float32"), b: R.Tensor((16,), "float32")) -> R.Tensor((4, 16), "float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.fused, (x, w, b), out_ty=R.Tensor((4, 16), "float32"))
            gv = R.add(lv, lv)
            R.output(gv)
        return gv
