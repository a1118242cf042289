# opt: RemoveRedundantPermuteDims
# A relu between two permutes, and a permute of a tensor of unknown rank.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), y: R.Tensor(dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor(dtype="float32")):
        with R.dataflow():
            turned = R.permute_dims(x, axes=[1, 0])
            positive = R.nn.relu(turned)
            back = R.permute_dims(positive, axes=[1, 0])
            other = R.permute_dims(y, axes=None)
            twice = R.permute_dims(other, axes=None)
            R.output(back, twice)
        return (back, twice)
