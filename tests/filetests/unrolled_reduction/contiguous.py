# plans: unrolled-reduction
# The reduction axes are contiguous.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16, 32, 5), "float32")):
        with R.dataflow():
            y = R.sum(x, axis=[1, 2])
            R.output(y)
        return y
