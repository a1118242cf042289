# plans: gpu contraction
# A single row.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 512), "float32"), w: R.Tensor((512, 4096), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
