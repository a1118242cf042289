# opt: gpu RealizeVDevice
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @T.prim_func
    def on_host(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("llvm")})
        for i in range(8):
            with T.sblock("b"):
                v = T.axis.spatial(8, i)
                B[v] = A[v] * T.float32(2)

    # The kernel's result is on the host, and what is computed from it. The parameter says where it is.
    @R.function
    def main(x: R.Tensor((8,), "float32", "llvm:0")):
        y = R.call_tir(Module.on_host, (x,), R.Tensor((8,), "float32"))
        z = R.exp(y)
        return z
