# opt: StaticPlanBlockMemory
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
        R.func_attr({"tir_var_upper_bound": {"n": [4]}})
        return x
