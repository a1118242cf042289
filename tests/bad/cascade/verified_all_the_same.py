from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((4,), "float32")):
        a = R.exq(x)
        b = R.call_tir(Module.double, (y,), out_ty=R.Tensor((8,), "float32"))
        c = R.call_tir(Module.double, (a,), out_ty=R.Tensor((8,), "float32"))
        d = R.call_tir(Module.double, (c,), out_ty=R.Tensor((8,), "floaty"))
        return d
