# opt: TrimConvKernel
# A dynamic batch, in other layouts.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 7, 9, 8), "float32"), line: R.Tensor((n, 3, 10), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((3, 3, 8, 5), "float32"), padding=(12, 2), dilation=(12, 2), data_layout="NHWC", kernel_layout="HWIO")
            b = R.nn.conv1d(line, R.ones((4, 3, 2), "float32"), padding=(64, 0), dilation=64)
            out = (a, b)
            R.output(out)
        return out
