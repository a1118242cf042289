# opt: Winograd
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 6, 9, 16), "float32"), b: R.Tensor((32,), "float32")):
        with R.dataflow():
            w = R.ones((3, 3, 16, 32), "float32")
            y = R.nn.relu(R.add(R.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO"), b))
            R.output(y)
        return y
