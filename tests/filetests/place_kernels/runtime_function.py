# opt: PlaceKernels
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

    # Runtime functions make tensors where their operands or the first device are.
    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0"), y: R.Tensor((2,), "float32")):
        a = R.call_pure_packed("my.function", x, sinfo_args=(R.Tensor((2,), "float32", "llvm:0"),))
        b = R.call_pure_packed("my.function", y, sinfo_args=(R.Tensor((2,), "float32"),))
        return (a, b)
