# opt: Kn2row
# A dynamic batch, strides, other layouts, one spatial axis, and 16-bit floats, which are summed in float32.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8, 11, 5), "float32"), line: R.Tensor((n, 8, 12), "float16")):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((16, 8, 2, 1), "float32"), padding=(4, 0, 0, 0), dilation=(6, 1), strides=2)
            b = R.nn.conv1d(line, R.ones((16, 8, 2), "float16"), padding=(8, 0), dilation=8)
            out = (a, b)
            R.output(out)
        return out
