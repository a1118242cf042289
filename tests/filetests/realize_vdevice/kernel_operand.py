# opt: gpu RealizeVDevice
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func
    def on_host(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("llvm")})
        for i in range(8):
            with T.sblock("b"):
                v = T.axis.spatial(8, i)
                B[v] = A[v] * T.float32(2)

    # Tensors without a device are on the GPU.
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        y = R.exp(x)
        z = R.call_tir(Module.on_host, (y,), R.Tensor((8,), "float32"))
        return z
