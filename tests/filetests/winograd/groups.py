# opt: Winograd{cheaper=true}
# The channels of a group of results are sums over those of its own data.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 28, 28, 64), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, R.ones((3, 3, 32, 128), "float32"), padding=1, groups=2, data_layout="NHWC", kernel_layout="HWIO")
            R.output(y)
        return y
