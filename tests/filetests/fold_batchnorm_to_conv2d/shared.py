# opt: FoldBatchnormToConv2D
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 8, 8), "float32")):
        with R.dataflow():
            conv = R.nn.conv2d(x, R.const([[[[1.0]]], [[[2.0]]]], "float32"), padding=1)
            bn = R.nn.batch_norm(conv, R.const([1.0, 2.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([3.0, 4.0], "float32"), R.const([1.5, 2.5], "float32"), axis=1, training=False)
            y = bn[0]
            out = (conv, y)
            R.output(out)
        return out
