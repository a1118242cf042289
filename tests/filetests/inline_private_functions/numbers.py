# opt: InlinePrivateFunctions
# A constant replaces its parameter in sizes and operands.
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n,), dtype="float32")):
        cls = Module
        with R.dataflow():
            a = cls.places(x, R.prim_value(0))
            b = cls.places(x, R.prim_value(n + 1))
            c = R.add(a, b)
            R.output(c)
        return c

    @R.function(private=True)
    def places(x: R.Tensor((n,), dtype="float32"), start: R.Prim(value="start")) -> R.Tensor((n,), dtype="float32"):
        with R.dataflow():
            y = R.arange(start, start + n, dtype="float32")
            z = R.add(x, y)
            R.output(z)
        return z
