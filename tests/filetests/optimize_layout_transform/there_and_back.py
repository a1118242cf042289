# opt: OptimizeLayoutTransform
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # A transform and its inverse.
    @R.function
    def main(x: R.Tensor((2, 8, 5), "float32")):
        with R.dataflow():
            a = R.layout_transform(x, index_map=lambda i, j, k: (i, j // 4, k, j % 4))
            b = R.layout_transform(a, index_map=lambda i, j, k, l: (i, j * 4 + l, k))
            c = R.add(b, x)
            R.output(c)
        return c

    # Padded to 8 and cropped to 8: the shape differs from the original one.
    @R.function
    def padded(x: R.Tensor((2, 6), "float32")):
        with R.dataflow():
            a = R.layout_transform(x, index_map=lambda i, j: (i, j // 4, j % 4), pad_value=0.0)
            b = R.layout_transform(a, index_map=lambda i, j, k: (i, j * 4 + k))
            R.output(b)
        return b
