# opt: TrimConvKernel
# Windows that reach the data with all elements, results of padding alone, dynamic sizes.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8, 14, 14), "float32"), any: R.Tensor((1, 8, n, 14), "float32"), w: R.Tensor((4, 8, 3, 3), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, w, padding=13, dilation=13)
            b = R.nn.conv2d(x, R.ones((4, 8, 2, 1), "float32"), padding=(40, 0, 40, 0), dilation=(60, 1))
            c = R.nn.conv2d(any, w, padding=24, dilation=24)
            out = (a, b, c)
            R.output(out)
        return out
