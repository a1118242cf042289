# opt: RemoveUnusedParameters
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function(private=True)
    def again(go: R.Tensor((), "bool"), x: R.Tensor((n,), "float32"), unused: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        if go:
            y: R.Tensor((n,), "float32") = Module.again(go, x, x)
            z: R.Tensor((n,), "float32") = y
        else:
            z: R.Tensor((n,), "float32") = x
        return z

    @R.function
    def main(go: R.Tensor((), "bool"), x: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        y: R.Tensor((n,), "float32") = Module.again(go, x, x)
        return y
