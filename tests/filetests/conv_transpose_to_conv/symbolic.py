# opt: ConvTransposeToConv
# Dynamic sizes of the data.
n = TypeVar("n")
h = TypeVar("h")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8, h, 7), "float32")):
        with R.dataflow():
            a = R.nn.conv2d_transpose(x, R.ones((8, 4, 3, 2), "float32"), padding=(1, 0))
            R.output(a)
        return a
