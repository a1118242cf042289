# opt: LazyTransformParams{fget_item="load",extra_get_item_params=["loader"],extra_set_item_params=["storer"]}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main_transform_params(scale: R.Tensor((), "float32"), a: R.Tensor((n, 4), "float32"), b: R.Tensor((4,), "float32"), untouched: R.Tensor((2,), "float32"), s: R.Shape([m])):
        R.func_attr({"num_input": 1})
        c = R.multiply(a, scale)
        d = R.broadcast_to(b, (m, 4))
        return (c, b, untouched, d, c)

    @R.function
    def main(x: R.Tensor((n,), "float32")):
        return x
