# opt: ZeroInitialize
# Kernels that write each element before they read it: a reduction, and a scan.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8,), "float32")):
        t = T.sblock_alloc_buffer((8,), "float32")
        for i, k in T.grid(8, 8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    t[vi] = T.float32(0)
                t[vi] = t[vi] + x[vi, vk]
        for i in range(8):
            with T.sblock("scan"):
                vi = T.axis.opaque(8, i)
                y[vi] = t[vi] + T.if_then_else(vi == 0, T.float32(0), y[vi - 1])

    @R.function
    def main(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((8,), "float32"))
        return y
