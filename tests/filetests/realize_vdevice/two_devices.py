# opt: RealizeVDevice
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    # `y` is inferred to be on the GPU.
    @R.function
    def main(x: R.Tensor((8,), "float32", "cuda:0"), w: R.Tensor((8,), "float32", "llvm:0")):
        y: R.Tensor((8,), "float32") = R.exp(x)
        t = (y, w)
        z = R.concat(t)
        return z
