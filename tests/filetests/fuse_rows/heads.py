# opt: FuseRows,FuseTIR
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Whole rows are permuted: the matmul reads them with strides.
    @T.prim_func(private=True, s_tir=True)
    def heads(A: T.Buffer((T.int64(4), T.int64(2), T.int64(32)), "float32"), B: T.Buffer((T.int64(2), T.int64(4), T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        for i, j, k in T.grid(T.int64(2), T.int64(4), T.int64(32)):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vj, vi, vk]

    # Columns become rows: both are packed first.
    @T.prim_func(private=True, s_tir=True)
    def columns(A: T.Buffer((T.int64(2), T.int64(32), T.int64(16)), "float32"), B: T.Buffer((T.int64(2), T.int64(16), T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        for i, j, k in T.grid(T.int64(2), T.int64(16), T.int64(32)):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vk, vj]

    @T.prim_func(private=True, s_tir=True)
    def product(A: T.Buffer((T.int64(2), T.int64(4), T.int64(32)), "float32"), B: T.Buffer((T.int64(2), T.int64(16), T.int64(32)), "float32"), C: T.Buffer((T.int64(2), T.int64(4), T.int64(16)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        for b, i, j, k in T.grid(T.int64(2), T.int64(4), T.int64(16), T.int64(32)):
            with T.sblock("C"):
                vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
                with T.init():
                    C[vb, vi, vj] = T.float32(0)
                C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vj, vk]

    @R.function
    def main(x: R.Tensor((4, 2, 32), "float32"), y: R.Tensor((2, 32, 16), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.heads, (x,), R.Tensor((2, 4, 32), "float32"))
            b = R.call_tir(cls.columns, (y,), R.Tensor((2, 16, 32), "float32"))
            c = R.call_tir(cls.product, (a, b), R.Tensor((2, 4, 16), "float32"))
            R.output(c)
        return c
