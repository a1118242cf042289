# opt: SliceStridedConv
# All axes, and of a window of 3x1 elements only the columns.
@I.ir_module
class Module:
    @R.function
    def main(line: R.Tensor((2, 4, 9), "float32"), x: R.Tensor((1, 8, 14, 15), "float32"), volume: R.Tensor((1, 8, 5, 6, 7), "float32")):
        with R.dataflow():
            a = R.nn.conv1d(line, R.ones((8, 4, 1), "float32"), strides=3)
            b = R.nn.conv2d(x, R.ones((16, 8, 3, 1), "float32"), strides=(2, 3), padding=(1, 0))
            c = R.nn.conv3d(volume, R.ones((16, 8, 1, 1, 1), "float32"), strides=2)
            out = (a, b, c)
            R.output(out)
        return out
