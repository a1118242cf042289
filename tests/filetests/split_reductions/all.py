# stages: gpu split-reductions
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1024, 1024), "float32")):
        with R.dataflow():
            y = R.mean(x)
            R.output(y)
        return y
