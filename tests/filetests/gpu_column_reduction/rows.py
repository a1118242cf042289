# plans: gpu column_reduction
# Results are not contiguous.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 512), "float32")):
        with R.dataflow():
            y = R.sum(x, axis=[1])
            R.output(y)
        return y
