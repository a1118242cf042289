# opt: LegalizeOps,FuseRows
# A sort is between the two users of the sum: the last of them cannot be fused with it.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            sum = R.add(x, y)
            sorted = R.sort(sum, axis=-1, descending=False)
            both = R.multiply(sum, sorted)
            out = R.nn.softmax(both, axis=-1)
            R.output(out)
        return out
