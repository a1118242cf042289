# opt: LambdaLift
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    # Nothing is captured: all uses, including recursive calls, refer to the global function.
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        @R.function
        def twice(a: R.Tensor((4,), "float32"), more: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
            if more:
                b = R.add(a, a)
                r = twice(b, R.const(False, "bool"))
            else:
                r = a
            return r

        y = twice(x, c)
        return y
