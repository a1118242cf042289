# opt: RemovePurityChecking,ComputePrimValue
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        small: T.bool = n < 4
        if small:
            r = R.exp(x)
        else:
            r = R.negative(x)
        return r
