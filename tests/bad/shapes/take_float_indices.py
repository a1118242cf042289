# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 2), dtype="float32"), y: R.Tensor((3,), dtype="float32")):
        z = R.take(x, y, axis=0)
        return z
