# opt: LegalizeOps,FuseRows
# The sum is also a result: one kernel computes both.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor((4, 8), dtype="float32")) -> R.Tuple(R.Tensor((4, 8), dtype="float32"), R.Tensor((4, 8), dtype="float32")):
        with R.dataflow():
            sum = R.add(x, y)
            out = R.nn.softmax(sum, axis=-1)
            R.output(sum, out)
        return (sum, out)
