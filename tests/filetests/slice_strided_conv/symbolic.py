# opt: SliceStridedConv
# A dynamic batch.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8, 14, 15), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((16, 8, 1, 1), "float32"), strides=(1, 2))
            R.output(a)
        return a
