# opt: OptimizeLayoutTransform
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # The shape is the same, the order of elements is not.
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.layout_transform(x, index_map=lambda i, j: (j, i))
            b = R.layout_transform(a, index_map=lambda i, j: (i, j))
            R.output(b)
        return b
