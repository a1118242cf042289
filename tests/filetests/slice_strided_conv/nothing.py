# opt: SliceStridedConv
# Channels last, padding, windows of several elements along the last axis, groups, and few channels.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8, 14, 14), "float32"), last: R.Tensor((1, 14, 14, 8), "float32"), any: R.Tensor((1, 8, n, n), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(last, R.ones((16, 8, 1, 1), "float32"), strides=2, data_layout="NHWC")
            b = R.nn.conv2d(x, R.ones((16, 8, 1, 1), "float32"), strides=2, padding=1)
            c = R.nn.conv2d(x, R.ones((16, 8, 1, 3), "float32"), strides=2)
            d = R.nn.conv2d(x, R.ones((16, 4, 1, 1), "float32"), strides=2, groups=2)
            e = R.nn.conv2d(x, R.ones((4, 8, 1, 1), "float32"), strides=2)
            f = R.nn.conv2d(any, R.ones((16, 8, 1, 1), "float32"), strides=2)
            out = (a, b, c, d, e, f)
            R.output(out)
        return out
