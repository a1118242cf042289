# opt: LiftTransformParams{shared_transform=true}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor((4,), "float32"), w: R.Tensor((4, 4), "float32")):
        R.func_attr({"num_input": 1})
        return x

    @R.function
    def g(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        return x
