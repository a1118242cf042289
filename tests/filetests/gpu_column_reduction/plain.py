# plans: gpu column_reduction
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((512, 1024), "float32")):
        with R.dataflow():
            y = R.sum(x, axis=[0])
            R.output(y)
        return y
