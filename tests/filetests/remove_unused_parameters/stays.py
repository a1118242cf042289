# opt: RemoveUnusedParameters
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    # The size of a call's argument is not known.
    @R.function(private=True)
    def zeros_like(x: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        z: R.Tensor((n,), "float32") = R.zeros((n,), "float32")
        return z

    # It is used as a value.
    @R.function(private=True)
    def second(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return y

    # Others call it.
    @R.function
    def public(x: R.Tensor((2,), "float32")):
        return R.const(1, "float32")

    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32"), y: R.Tensor((2,), "float32")):
        a = Module.zeros_like(x)
        f = Module.second
        b = f(y, y)
        return (a, b)
