# opt: DeadCodeElimination{entry_functions=["kept"]}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function(private=True)
    def kept(x: R.Tensor((4,), "float32")):
        cls = Module
        y = cls.used(x)
        return y

    @R.function(private=True)
    def used(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x

    @R.function(private=True)
    def unused(x: R.Tensor((4,), "float32")):
        return x
