# stages: collapse-axes
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 1, 2, 2), "float32")):
        with R.dataflow():
            y = R.sum(x)
            R.output(y)
        return y
