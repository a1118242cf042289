from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    I.module_attrs({"version": 3})
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1)]})
    @R.function
    def main(x: R.Tensor((2,), dtype="float32", vdevice="llvm:0")):
        R.func_attr({"num_input": 1})
        y = R.to_vdevice(x, dst_vdevice="llvm:1")
        z = R.exp(y)
        return z
