# opt: LazyTransformParams
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def transform_params(params: R.Tuple(R.Tensor((4,), "float32"))):
        with R.dataflow():
            a = params[0]
            b = R.add(a, a)
            R.output(b)
        return (b,)
