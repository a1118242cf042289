# opt: TrimConvKernel
# Rows and columns of windows that are always in the padding: all but the center, those at one end, and with data that
# no window reaches.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8, 14, 14), "float32"), w: R.Tensor((4, 8, 3, 3), "float32"), wide: R.Tensor((4, 1, 3, 5), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, w, padding=24, dilation=24)
            b = R.nn.conv2d(x, w, padding=(1, 16, 1, 24), dilation=(1, 20), data_layout="NCHW")
            c = R.nn.conv2d(x, R.ones((8, 1, 3, 5), "float32"), padding=(30, 13, 1, 40), dilation=(20, 13), groups=8, strides=(2, 1))
            out = (a, b, c)
            R.output(out)
        return out
