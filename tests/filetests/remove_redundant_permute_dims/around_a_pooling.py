# opt: RemoveRedundantPermuteDims
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 28, 30, 64), dtype="float32")) -> R.Tensor((1, 14, 15, 64), dtype="float32"):
        with R.dataflow():
            turned = R.permute_dims(x, axes=[0, 3, 1, 2])
            pooled = R.nn.max_pool2d(turned, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])
            back = R.permute_dims(pooled, axes=[0, 2, 3, 1])
            R.output(back)
        return back

    @R.function
    def other_order(x: R.Tensor((28, 30, 1, 64), dtype="float32")) -> R.Tensor((26, 28, 1, 64), dtype="float32"):
        with R.dataflow():
            turned = R.permute_dims(x, axes=[2, 3, 0, 1])
            pooled = R.nn.avg_pool2d(turned, pool_size=[3, 3])
            back = R.permute_dims(pooled, axes=[2, 3, 0, 1])
            R.output(back)
        return back

    # The result is not permuted back.
    @R.function
    def not_back(x: R.Tensor((1, 28, 30, 64), dtype="float32")) -> R.Tensor((1, 28, 64, 28), dtype="float32"):
        with R.dataflow():
            turned = R.permute_dims(x, axes=[0, 3, 1, 2])
            pooled = R.nn.max_pool2d(turned, pool_size=[1, 3])
            other = R.permute_dims(pooled, axes=[0, 2, 1, 3])
            R.output(other)
        return other

    # Three channels would not fill vectors.
    @R.function
    def few_channels(x: R.Tensor((1, 28, 30, 3), dtype="float32")) -> R.Tensor((1, 26, 28, 3), dtype="float32"):
        with R.dataflow():
            turned = R.permute_dims(x, axes=[0, 3, 1, 2])
            pooled = R.nn.max_pool2d(turned, pool_size=[3, 3])
            back = R.permute_dims(pooled, axes=[0, 2, 3, 1])
            R.output(back)
        return back
