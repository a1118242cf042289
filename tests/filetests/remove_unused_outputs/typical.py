# opt: RemoveUnusedOutputs
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function(private=True)
    def three(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        a = R.exp(x)
        b = R.sin(x)
        c = R.cos(x)
        return (a, b, c)

    @R.function(private=True)
    def none_used(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        a = R.exp(x)
        return (a, a)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        t = Module.three(x)
        u = Module.three(t[0])
        unused = Module.none_used(x)
        y = R.add(u[0], u[2])
        return y
