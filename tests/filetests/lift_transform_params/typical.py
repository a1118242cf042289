# opt: LiftTransformParams
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4), "float32"), w: R.Tensor((8, 4), "float32"), v: R.Tensor((8,), "float32"), unused: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            t = R.permute_dims(w)
            one = R.ones((8,), "float32")
            vo = R.add(v, one)
            y = R.matmul(x, t)
            z = R.add(R.add(y, vo), R.add(one, v))
            R.output(z, vo)
        return (z, vo)

    @R.function
    def weights_are_unknown(x: R.Tensor((n,), "float32")):
        return x
