# opt: BundleModelParams{param_tuple_name="weights"}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), "float32"), count: T.int64, w: R.Tensor((4, m), "float32"), b: R.Tensor((count,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.broadcast_to(b, (m, count))
            R.output(y, z)
        return (y, z)
