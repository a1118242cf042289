# opt: QuantizeWeights
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 3), "float32")):
        with R.dataflow():
            small = R.matmul(x, R.const([[1], [2], [3], [4]], "float32"))
            product = R.matmul(x, w)
            left = R.matmul(R.const([[1, 2]], "float32"), x)
            R.output(small, product, left)
        return (small, product, left)
