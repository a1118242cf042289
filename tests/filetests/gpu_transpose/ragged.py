# plans: gpu transpose
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((100, 33), "float32")):
        with R.dataflow():
            y = R.permute_dims(x)
            R.output(y)
        return y
