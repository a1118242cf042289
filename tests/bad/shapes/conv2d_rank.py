# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 8, 8), dtype="float32"), y: R.Tensor((4, 3, 3, 3), dtype="float32")):
        z = R.nn.conv2d(x, y)
        return z
