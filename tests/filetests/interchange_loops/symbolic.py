# stages: interchange-loops
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), i: R.Tensor(("k", "m"), "int64"), u: R.Tensor(("k", "m"), "float32")):
        with R.dataflow():
            y = R.scatter_elements(x, i, u, axis=0, reduction="max")
            R.output(y)
        return y
