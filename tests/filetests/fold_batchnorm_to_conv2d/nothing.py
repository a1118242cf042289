# opt: FoldBatchnormToConv2D
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 8, 8), "float32"), w: R.Tensor((2, 1, 1, 1), "float32"), v: R.Tensor((2,), "float32")):
        with R.dataflow():
            conv = R.nn.conv2d(x, w)
            bn = R.nn.batch_norm(conv, v, v, v, v, axis=1, training=False)
            y = bn[0]
            R.output(y)
        return y
