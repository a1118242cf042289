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
    def value(t: R.Tuple(R.Tensor((n,), "float32"))) -> R.Tensor((n,), "float32"):
        return t[0]

    @R.function
    def public(t: R.Tuple(R.Tensor((n,), "float32"))):
        return t[0]

    @R.function
    def main(x: R.Tensor((n,), "float32")):
        y = Module.public((x,))
        f = Module.value
        z = f((x,))
        return (y, z)
