# opt: EliminateCommonSubexpr
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    # Both exponentials are merged, and so are their sums; the order of operands matters.
    @R.function
    def main(x: R.Tensor((n, m), "float32"), y: R.Tensor((n, m), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(x)
            c = R.add(a, y)
            d = R.add(b, y)
            e = R.add(y, b)
            s = R.sum(c, axis=[0])
            t = R.sum(d, axis=[1])
            u = R.multiply(c, R.const(2, "float32"))
            v = R.multiply(d, R.const(2, "float32"))
            R.output(d, e, s, t, u, v)
        return (d, e, s, t, u, v)

    # Nothing to do.
    @R.function
    def different(x: R.Tensor((n,), "float32"), y: R.Tensor((m,), "float32")):
        a = R.zeros(R.shape([n]), "float32")
        b = R.zeros(R.shape([m]), "float32")
        c = R.zeros(R.shape([n]), "int32")
        return (a, b, c)
