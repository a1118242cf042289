# plans: gpu elementwise
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1024, 1000), "float32"), b: R.Tensor((1000,), "float32")):
        with R.dataflow():
            y = R.add(x, b)
            R.output(y)
        return y
