# opt: Winograd{cheaper=true}
# Weights that are arguments, strides, large kernels, other dtypes, dynamic sizes, few channels,
# and more weights than data.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 64, 56, 56), "float32"), w: R.Tensor((64, 64, 3, 3), "float32"), any: R.Tensor((1, 64, n, 56), "float32"), double: R.Tensor((1, 64, 56, 56), "float64"), few: R.Tensor((1, 4, 56, 56), "float32"), deep: R.Tensor((1, 512, 7, 7), "float32")):
        with R.dataflow():
            known = R.ones((64, 64, 3, 3), "float32")
            a = R.nn.conv2d(x, w, padding=1)
            b = R.nn.conv2d(x, known, padding=1, strides=2)
            c = R.nn.conv2d(x, R.ones((64, 64, 1, 1), "float32"))
            d = R.nn.conv2d(x, R.ones((64, 1, 3, 3), "float32"), padding=1, groups=64)
            e = R.nn.conv2d(x, R.ones((64, 64, 1, 7), "float32"))
            f = R.nn.conv2d(double, R.ones((64, 64, 3, 3), "float64"), padding=1)
            g = R.nn.conv2d(any, known, padding=1)
            h = R.nn.conv2d(few, R.ones((4, 4, 3, 3), "float32"), padding=1)
            i = R.nn.conv2d(deep, R.ones((512, 512, 3, 3), "float32"), padding=1)
            out = (a, b, c, d, e, f, g, h, i)
            R.output(out)
        return out
