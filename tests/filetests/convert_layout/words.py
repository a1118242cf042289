# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","HWIO"]},cheaper=true}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Packed groups need channels last: the first is converted. The second has too few channels, and the third is
    # pointwise, with rows that fill vectors: they are unchanged.
    @R.function
    def main(x: R.Tensor((1, 64, 28, 28), "uint8"), w: R.Tensor((64, 64, 3, 3), "int8")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=(1, 1), out_dtype="int32")
            R.output(y)
        return y

    @R.function
    def few(x: R.Tensor((1, 3, 32, 32), "uint8"), w: R.Tensor((64, 3, 3, 3), "int8")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=(1, 1), out_dtype="int32")
            R.output(y)
        return y

    @R.function
    def places(x: R.Tensor((1, 64, 32, 32), "uint8"), w: R.Tensor((64, 64, 1, 1), "int8")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, out_dtype="int32")
            R.output(y)
        return y

    # Two output channels do not fill vectors, and channels of other groups read other data.
    @R.function
    def groups(x: R.Tensor((1, 64, 28, 28), "bfloat16"), w: R.Tensor((8, 16, 3, 3), "bfloat16")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=(1, 1), groups=4)
            R.output(y)
        return y

    @R.function
    def groups_in_steps(x: R.Tensor((1, 64, 28, 28), "bfloat16"), w: R.Tensor((8, 16, 3, 3), "bfloat16")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=(1, 1), strides=2, groups=4)
            R.output(y)
        return y
