# opt: LegalizeOps,FuseRows
# The cache length is a scalar parameter, not a tensor dimension, which does not prevent fusion.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((2, "s", 16), dtype="float32"), old: R.Tensor((2, "p", 16), dtype="float32"), new: R.Tensor((2, "s", 16), dtype="float32")) -> R.Tensor((2, "s", 16), dtype="float32"):
        with R.dataflow():
            all = R.concat((old, new), axis=1)
            turned = R.permute_dims(all, axes=[0, 2, 1])
            dots = R.matmul(q, turned)
            weights = R.nn.softmax(dots, axis=-1)
            out = R.matmul(weights, all)
            R.output(out)
        return out
