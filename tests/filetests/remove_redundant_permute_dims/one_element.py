# opt: RemoveRedundantPermuteDims
# Only axes of size 1 are permuted; in the last one, others are as well.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, "n", 1, 4), dtype="float32")):
        with R.dataflow():
            a = R.permute_dims(x, axes=[1, 0, 3, 2])
            b = R.permute_dims(x, axes=[0, 3, 1, 2])
            R.output(a, b)
        return (a, b)
