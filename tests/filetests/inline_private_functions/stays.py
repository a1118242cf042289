# opt: InlinePrivateFunctions
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function(private=True)
    def even(x: R.Tensor((), "bool"), y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        if x:
            r: R.Tensor((n,), "float32") = Module.odd(x, y)
        else:
            r: R.Tensor((n,), "float32") = y
        return r

    @R.function(private=True)
    def odd(x: R.Tensor((), "bool"), y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        r = Module.even(x, y)
        return r

    # It is inlined, and retained because it is also used as a value.
    @R.function(private=True)
    def value(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        r = R.exp(y)
        return r

    @R.function
    def main(x: R.Tensor((), "bool"), y: R.Tensor((m,), "float32")):
        a = Module.even(x, y)
        b = Module.value(y)
        f = Module.value
        return (a, b, f)
