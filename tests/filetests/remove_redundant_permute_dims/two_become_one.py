# opt: RemoveRedundantPermuteDims
# A symbolic size; the first permute has another user and is retained.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3, 4), dtype="float32")) -> R.Tuple(R.Tensor((4, 3, "n"), dtype="float32"), R.Tensor((3, 4, "n"), dtype="float32")):
        with R.dataflow():
            turned = R.permute_dims(x, axes=None)
            again = R.permute_dims(turned, axes=[1, 0, 2])
            R.output(turned, again)
        return (turned, again)
