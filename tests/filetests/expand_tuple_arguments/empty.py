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
    def one(t: R.Tuple, u: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        return u

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = Module.one((), (x, x))
        return y[1]
