# stages: gpu split-reductions
# Of a tall matrix with three columns.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((100000, 3), "float32")):
        with R.dataflow():
            y = R.sum(x, axis=[0])
            R.output(y)
        return y
