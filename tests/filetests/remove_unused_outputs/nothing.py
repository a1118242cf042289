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
    def whole(x: R.Tensor((n,), "float32")) -> R.Tuple(R.Tensor((n,), "float32"), R.Tensor((n,), "float32")):
        a = R.exp(x)
        return (a, x)

    @R.function(private=True)
    def value(x: R.Tensor((n,), "float32")) -> R.Tuple(R.Tensor((n,), "float32"), R.Tensor((n,), "float32")):
        a = R.exp(x)
        return (a, x)

    @R.function
    def public(x: R.Tensor((n,), "float32")):
        a = R.exp(x)
        return (a, x)

    @R.function
    def main(x: R.Tensor((n,), "float32")):
        t = Module.whole(x)
        p = Module.public(x)
        f = Module.value
        v = f(x)
        y = v[0]
        z = p[0]
        return (t, t[0], y, z)
