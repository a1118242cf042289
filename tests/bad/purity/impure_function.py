# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def log(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        _ = R.print(x, format="{}")
        return x

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        cls = Module
        y = cls.log(x)
        return y
