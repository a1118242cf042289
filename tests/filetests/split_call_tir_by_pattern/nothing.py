# opt: SplitCallTIRByPattern{patterns="tests/filetests/split_call_tir_by_pattern/kernels/library.py"},DeadCodeElimination
# One kernel adds other elements; another one also uses the matmul's operands.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def transposed(x: T.Buffer((T.int64(8), T.int64(8)), "float32"), w: T.Buffer((T.int64(8), T.int64(16)), "float32"), y: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        for i, j, k in T.grid(T.int64(8), T.int64(16), T.int64(8)):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = T.float32(0)
                y[vi, vj] = y[vi, vj] + x[vk, vi] * w[vk, vj]

    @T.prim_func(private=True, s_tir=True)
    def made(u: T.Buffer((T.int64(4), T.int64(8)), "float32"), w: T.Buffer((T.int64(8), T.int64(16)), "float32"), y: T.Buffer((T.int64(4), T.int64(16)), "float32")):
        x = T.sblock_alloc_buffer((T.int64(4), T.int64(8)), "float32")
        for i, k in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("twice"):
                vi, vk = T.axis.remap("SS", [i, k])
                x[vi, vk] = u[vi, vk] * T.float32(2)
        for i, j, k in T.grid(T.int64(4), T.int64(16), T.int64(8)):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = T.float32(0)
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vk, vj]

    @R.function
    def main(x: R.Tensor((8, 8), "float32"), u: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 16), "float32")) -> R.Tuple(R.Tensor((8, 16), "float32"), R.Tensor((4, 16), "float32")):
        cls = Module
        y = R.call_tir(cls.transposed, (x, w), out_ty=R.Tensor((8, 16), "float32"))
        z = R.call_tir(cls.made, (u, w), out_ty=R.Tensor((4, 16), "float32"))
        return (y, z)
