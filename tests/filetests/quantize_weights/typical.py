# opt: QuantizeWeights{min_bytes=1}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), y: R.Tensor((3, 2), "float32")):
        with R.dataflow():
            a = R.matmul(x, R.const([[1, 0.5, 0], [-2, 0.25, 0], [127, 0, 0], [3, -1, 0]], "float32"))
            b = R.matmul(a, y)
            c = R.add(b, b)
            R.output(c)
        return c
