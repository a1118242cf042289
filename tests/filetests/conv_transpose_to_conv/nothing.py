# opt: ConvTransposeToConv
# Strides, groups, weights that are arguments, and padding beyond the window's reach.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8, 9, 7), "float32"), w: R.Tensor((8, 4, 3, 3), "float32")):
        with R.dataflow():
            a = R.nn.conv2d_transpose(x, R.ones((8, 4, 3, 3), "float32"), strides=(1, 2))
            b = R.nn.conv2d_transpose(x, R.ones((8, 4, 3, 3), "float32"), groups=2)
            c = R.nn.conv2d_transpose(x, w)
            d = R.nn.conv2d_transpose(x, R.ones((8, 4, 3, 3), "float32"), padding=(0, 0, 3, 0))
            out = (a, b, c, d)
            R.output(out)
        return out
