# stages: interchange-loops
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((10, 6, 4, 5), "float32"), i: R.Tensor((8, 6, 4, 5), "int64"), u: R.Tensor((8, 6, 4, 5), "float32")):
        with R.dataflow():
            y = R.scatter_elements(x, i, u, axis=0)
            R.output(y)
        return y
