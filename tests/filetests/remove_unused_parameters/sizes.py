# opt: RemoveUnusedParameters
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function(private=True)
    def zeros_like(x: R.Tensor((n, 4), "float32"), y: R.Tensor((m,), "float32"), unused: R.Tensor((2,), "float32"), count: T.int64) -> R.Tensor((n, m), "float32"):
        z: R.Tensor((n, m), "float32") = R.zeros((n, m), "float32")
        return z

    @R.function
    def main(x: R.Tensor((n, 4), "float32"), y: R.Tensor((m,), "float32"), c: T.int64):
        with R.dataflow():
            dead = R.add(R.const([1, 2], "float32"), R.const([1, 2], "float32"))
            a = Module.zeros_like(x, y, dead, c)
            b = Module.zeros_like(R.const([[1, 2, 3, 4]], "float32"), y, R.const([1, 2], "float32"), c + 1)
            R.output(a, b)
        return (a, b)
