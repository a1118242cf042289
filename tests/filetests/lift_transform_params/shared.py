# opt: LiftTransformParams{shared_transform=["f","g"],consume_params=true}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            wt = R.permute_dims(w)
            again = R.permute_dims(w)
            own = R.exp(v)
            y = R.matmul(R.matmul(x, wt), R.add(again, own))
            R.output(y)
        return y

    @R.function
    def g(x: R.Tensor((4, 4), "float32"), s: R.Tensor((4, 4), "float32"), a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32")):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            at = R.permute_dims(a)
            y = R.matmul(R.add(x, s), at)
            R.output(y)
        return y

    @R.function
    def h(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        R.func_attr({"num_input": 1})
        y = R.matmul(x, w)
        return y
