# opt: LazyTransformParams{fset_item=null}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def transform_params(params: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
        a = params[0]
        b = R.add(a, params[1])
        return (b, params)
