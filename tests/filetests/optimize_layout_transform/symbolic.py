# opt: OptimizeLayoutTransform
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8), "float32")):
        with R.dataflow():
            a = R.layout_transform(x, index_map=lambda i, j: (j, i))
            b = R.layout_transform(a, index_map=lambda i, j: (j, i))
            R.output(b)
        return b
