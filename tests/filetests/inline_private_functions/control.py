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
    def choose(c: R.Tensor((), "bool"), x: R.Tensor((n,), "float32"), k: T.int64) -> R.Tensor((n,), "float32"):
        if c:
            r: R.Tensor((n,), "float32") = R.sin(x)
        else:
            r: R.Tensor((n,), "float32") = R.full((n,), R.const(1, "float32"), "float32")
        return r

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((m,), "float32"), k: T.int64):
        with R.dataflow():
            y = R.exp(x)
            z = Module.choose(c, y, k + 1)
            u = R.exp(z)
            R.output(u)
        return u
