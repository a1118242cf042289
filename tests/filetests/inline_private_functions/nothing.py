# opt: InlinePrivateFunctions
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def public(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        r = R.exp(y)
        return r

    @R.function
    def main(y: R.Tensor((m,), "float32")):
        b = Module.public(y)
        return b
