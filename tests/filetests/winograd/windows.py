# opt: Winograd{cheaper=true}
# Windows other than 3x3: the same tiles of data have fewer or more results.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 28, 28, 64), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((5, 5, 64, 64), "float32"), padding=2, data_layout="NHWC", kernel_layout="HWIO")
            b = R.nn.conv2d(x, R.ones((1, 3, 64, 64), "float32"), padding=(0, 1), data_layout="NHWC", kernel_layout="HWIO")
            out = (a, b)
            R.output(out)
        return out
