# Transposed convolutions whose results have one summand per channel: their short rows are collapsed.
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((1, 128, 16, 16), "float32"),
        w: R.Tensor((128, 64, 2, 2), "float32"),
        volume: R.Tensor((1, 16, 6, 6, 6), "float32"),
        taps: R.Tensor((16, 8, 2, 2, 2), "float32"),
    ):
        with R.dataflow():
            y = R.nn.relu(R.nn.conv2d_transpose(x, w, strides=(2, 2)))
            z = R.nn.conv3d_transpose(volume, taps, strides=(2, 2, 2))
            R.output(y, z)
        return (y, z)
