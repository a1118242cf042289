# opt: LambdaLift
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    # Captured variables become parameters after the function's own ones.
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        @R.function
        def outer(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            @R.function
            def inner(b: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                c = R.add(b, a)
                d = R.add(c, x)
                return d

            e = inner(y)
            return e

        z = outer(x)
        return z
