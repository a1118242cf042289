# plans: gpu column_reduction
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4096), "float32"), w: R.Tensor((4096, 4096), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
