# opt: RemoveRedundantPermuteDims
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 4), dtype="float32")) -> R.Tensor((2, 3, 4), dtype="float32"):
        with R.dataflow():
            turned = R.permute_dims(x, axes=[0, 2, 1])
            back = R.permute_dims(turned, axes=[0, -1, -2])
            out = R.nn.relu(back)
            R.output(out)
        return out
