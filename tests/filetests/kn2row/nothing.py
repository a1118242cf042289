# opt: Kn2row{cheaper=true}
# Weights that are arguments, groups, little padding, few channels, dynamic sizes, and where Winograd is cheaper.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 256, 14, 14), "float32"), any: R.Tensor((1, 256, n, 14), "float32"), w: R.Tensor((256, 256, 3, 3), "float32"), few: R.Tensor((1, 8, 14, 14), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, w, padding=12, dilation=12)
            b = R.nn.conv2d(x, R.ones((256, 128, 3, 3), "float32"), padding=12, dilation=12, groups=2)
            c = R.nn.conv2d(x, R.ones((256, 256, 7, 7), "float32"), padding=1)
            d = R.nn.conv2d(few, R.ones((8, 8, 3, 3), "float32"), padding=12, dilation=12)
            e = R.nn.conv2d(any, R.ones((256, 256, 3, 3), "float32"), padding=12, dilation=12)
            f = R.nn.conv2d(x, R.ones((256, 256, 3, 3), "float32"), padding=2, dilation=2)
            out = (a, b, c, d, e, f)
            R.output(out)
        return out
