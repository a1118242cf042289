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
    def scale(x: R.Tensor((n, m), "float32"), by: R.Tensor((), "float32")) -> R.Tensor((n, m), "float32"):
        with R.dataflow():
            y = R.multiply(x, by)
            z = R.add(y, R.zeros((n, m), "float32"))
            R.output(z)
        return z

    @R.function(private=True)
    def twice(t: R.Tuple(R.Tensor((n, m), "float32"), R.Tensor((), "float32"))) -> R.Tuple(R.Tensor((n, m), "float32"), R.Tensor((n, m), "float32")):
        a = Module.scale(t[0], t[1])
        b = Module.scale(a, t[1])
        return (a, b)

    @R.function(private=True)
    def unused(x: R.Tensor((n,), "float32")):
        return x

    @R.function
    def main(x: R.Tensor((m, 8), "float32"), by: R.Tensor((), "float32"), u: R.Tensor(dtype="float32")):
        with R.dataflow():
            t = Module.twice((x, by))
            y = R.add(t[0], t[1])
            v = Module.scale(u, by)
            R.output(y, v)
        return (y, v)
