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
    def main(x: R.Tensor((n, 4), "float32"), w: R.Tensor((m, 4), "float32"), b: R.Tensor((m,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            s = R.sum(w, axis=[0, 1])
            z = R.zeros((m,), "float32")
            y = R.matmul(x, R.zeros((4, m), "float32"))
            u = R.add(R.add(y, z), s)
            k = R.match_cast(R.add(b, z), R.Tensor((m,), "float32"))
            R.output(u)
        return u
