# opt: Kn2row{cheaper=true}
# The elements of the kernel that are inside the data for most results come first.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 14, 14, 256), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.nn.conv2d(x, R.ones((2, 3, 256, 128), "float32"), padding=(12, 12, 0, 12), dilation=12, data_layout="NHWC", kernel_layout="HWIO"))
            R.output(y)
        return y
