# opt: EliminateCommonSubexpr,CanonicalizeBindings
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    # Values of a branch are not available after it; those before it are available inside. The dataflow variable is not
    # visible after its block, where its output replaces it.
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(x)
            d = R.add(a, b)
            R.output(b, d)
        e = R.exp(x)
        if c:
            f = R.exp(x)
            g = R.sin(f)
            r = R.add(g, d)
        else:
            g = R.sin(e)
            r = R.add(g, e)
        h = R.sin(e)
        i = R.add(h, r)
        return (b, e, i)

    @R.function
    def nested(x: R.Tensor((4,), "float32")):
        a = R.exp(x)

        @R.function
        def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            b = R.exp(y)
            c = R.exp(y)
            d = R.add(b, c)
            return d

        e = inner(a)
        f = inner(a)
        g = R.add(e, f)
        return g
