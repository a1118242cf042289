# opt: FastMathTransform
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float64"), y: R.Tensor(dtype="float32"), z: R.Tensor((4,), "float16")):
        a = R.exp(x)
        b = R.exp(y)
        c = R.tanh(z)
        d = R.sin(z)
        return (a, b, c, d)
