# opt: ExpandTupleArguments
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function(private=True)
    def sum3(t: R.Tuple(R.Tensor((n,), "float32"), R.Tuple(R.Tensor((n,), "float32"), R.Tensor((n,), "float32"))), x: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        with R.dataflow():
            inner = t[1]
            a = R.add(t[0], inner[0])
            b = R.add(a, inner[1])
            c = R.add(b, x)
            R.output(c)
        return c

    @R.function
    def main(x: R.Tensor((m,), "float32"), t: R.Tuple(R.Tensor((m,), "float32"), R.Tensor((m,), "float32"))):
        y = Module.sum3((x, t), x)
        z = Module.sum3((y, (x, y)), x)
        return (y, z)
