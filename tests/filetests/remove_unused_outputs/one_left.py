# opt: RemoveUnusedOutputs
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function(private=True)
    def both(x: R.Tensor((n,), "float32")) -> R.Tuple(R.Tensor((n,), "float32"), R.Tensor((n,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(x)
            t = (a, b)
            R.output(t)
        return t

    @R.function
    def main(x: R.Tensor((m,), "float32")):
        t = Module.both(x)
        y = R.add(t[1], x)
        return y
