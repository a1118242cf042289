# opt: PlaceKernels
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    # The parameter has no device, so it is on the first one.
    @R.function(private=True)
    def sub(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return a

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0")):
        y = Module.sub(x)
        return y
