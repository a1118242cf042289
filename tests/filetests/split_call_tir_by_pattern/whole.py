# opt: SplitCallTIRByPattern{patterns="tests/filetests/split_call_tir_by_pattern/kernels/library.py"},DeadCodeElimination
# The whole kernel is replaced.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def product(w: T.Buffer((T.int64(8), T.int64(16)), "float32"), x: T.Buffer((T.int64(4), T.int64(8)), "float32"), y: T.Buffer((T.int64(4), T.int64(16)), "float32")):
        for i, j, k in T.grid(T.int64(4), T.int64(16), T.int64(8)):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = T.float32(0)
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vk, vj]

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 16), "float32")) -> R.Tensor((4, 16), "float32"):
        y = R.call_tir(Module.product, (w, x), out_ty=R.Tensor((4, 16), "float32"))
        return y
