# opt: ToMixedPrecision
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # A constant out of range keeps the sum in float32; attention keeps its bias and mask; a nested function and a
    # checked type get float32.
    @R.function
    def main(q: R.Tensor((1, 4, 2, 8), "float32"), bias: R.Tensor((1, 2, 4, 4), "float32")):
        with R.dataflow():
            a = R.nn.attention(q, q, q, bias, scale=0.5, causal_mask="TopLeft")
            b = R.add(a, R.const(70000.0, "float32"))
            c = R.add(a, R.const(0.5, "float32"))
            d = R.match_cast(a, R.Tensor((1, 4, 2, 8), "float32"))

            @R.function
            def inner(x: R.Tensor((1, 4, 2, 8), "float32")) -> R.Tensor((1, 4, 2, 8), "float32"):
                y = R.add(x, a)
                return y

            e = inner(d)
            out = (b, c, e)
            R.output(out)
        return out
