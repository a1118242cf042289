# opt: LambdaLift
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    # A size that no parameter of the inner function defines is passed as a shape.
    @R.function
    def main(x: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        @R.function
        def filled(a: R.Tensor((), "float32")) -> R.Tensor((n,), "float32"):
            b = R.full(R.shape([n]), a, "float32")
            return b

        y = filled(R.const(1, "float32"))
        z = R.add(x, y)
        return z
