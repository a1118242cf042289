# plans: gpu tensor_core_contraction
# All sizes are dynamic: copies of one element, with tails.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("m", "k"), "float16"), w: R.Tensor(("k", "n"), "float16")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
