# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","HWIO"]},cheaper=true}
# Rows of 14 fill vectors better than the four channels of a group, those of 7 not better than many channels: only the
# convolution with groups stays as it is.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 32, 14, 14), "float32")):
        with R.dataflow():
            a = R.nn.relu(R.nn.conv2d(x, R.ones((32, 4, 3, 3), "float32"), padding=1, groups=8))
            b = R.nn.relu(R.nn.conv2d(a, R.ones((32, 32, 3, 3), "float32"), padding=1, strides=2))
            c = R.nn.conv2d(b, R.ones((32, 32, 3, 3), "float32"), padding=1)
            R.output(c)
        return c
