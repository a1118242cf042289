# opt: KillAfterLastUse
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Parameters and results are not killed.
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y = R.exp(x)
        return y
