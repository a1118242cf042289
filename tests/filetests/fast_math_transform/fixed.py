# opt: FastMathTransform
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16,), "float32")):
        y = R.tanh(x)
        return y
