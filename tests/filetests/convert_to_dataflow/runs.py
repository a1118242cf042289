# opt: ConvertToDataflow
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Two runs around a call with a side effect; a single binding stays outside. `b` is used in both.
    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), "float32")):
        a = R.add(x, x)
        b = R.multiply(a, a)
        R.print(b, format="{}")
        c = R.add(b, x)
        R.print(c, format="{}")
        d = R.exp(c)
        e = R.tanh(d)
        f = R.add(e, b)
        return f

    # An existing block absorbs adjacent bindings.
    @R.function
    def grows(x: R.Tensor((2, 3), "float32")):
        a = R.add(x, x)
        with R.dataflow():
            b = R.multiply(a, a)
            R.output(b)
        c = R.add(b, a)
        return c
