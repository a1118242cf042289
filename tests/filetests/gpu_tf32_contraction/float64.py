# plans: gpu tf32 tensor_core_contraction
# The rule does not match.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((256, 256), "float64"), w: R.Tensor((256, 256), "float64")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
