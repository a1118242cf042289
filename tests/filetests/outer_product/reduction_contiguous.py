# plans: outer-product
# Both operands are contiguous along the reduction: inner-product.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 512), "float32"), w: R.Tensor((16, 512), "float32")):
        with R.dataflow():
            a = R.permute_dims(w)
            y = R.matmul(x, a)
            R.output(y)
        return y
