# stages: interchange-loops
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 10), "float32"), i: R.Tensor((4, 8), "int64"), u: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            y = R.scatter_elements(x, i, u, axis=1)
            R.output(y)
        return y
