# opt: PlaceKernels
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("b"):
                v = T.axis.spatial(2, i)
                B[v] = A[v] * T.float32(2)

    # No devices.
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        a = R.call_tir(Module.double, (x,), R.Tensor((2,), "float32"))
        return a
