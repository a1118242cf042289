# opt: Winograd{cheaper=true}
# Tiles of positions that are as far apart as the elements of the window.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 28, 30, 64), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, R.ones((3, 3, 64, 64), "float32"), padding=(4, 1), dilation=(4, 1), data_layout="NHWC", kernel_layout="HWIO")
            R.output(y)
        return y
