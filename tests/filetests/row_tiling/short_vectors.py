# stages: row-tiling
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((20, 30, 3), "float32")):
        with R.dataflow():
            y = R.nn.softmax(x, axis=0)
            R.output(y)
        return y
