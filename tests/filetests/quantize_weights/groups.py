# opt: QuantizeWeights{dtype="int4",group=2,min_bytes=1}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.matmul(x, R.const([[7, 0.5], [-2, 0.25], [1, 14]], "float32"))
            b = R.matmul(y, R.const([[1, -0.5], [2, 3], [-1, 0]], "float32"))
            c = R.add(a, b)
            R.output(c)
        return c
