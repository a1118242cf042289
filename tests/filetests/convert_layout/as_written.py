# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","OHWI"]}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Operators that depend on the order of elements keep the original layout: a flattened repeat, a reshape, an index
    # into the channels.
    @R.function
    def main(x: R.Tensor((1, 3, 6, 6), "float32"), w: R.Tensor((4, 3, 3, 3), "float32"), i: R.Tensor((2, 2), "int64")):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            flat = R.repeat(y, 2)
            shaped = R.reshape(y, (4, 16))
            u = R.zeros((2, 4, 4), "float32")
            scattered = R.scatter_nd(y, i, u, "update")
            out = (flat, shaped, scattered)
            R.output(out)
        return out

    # A called function gets the original layout.
    @R.function
    def closure(x: R.Tensor((1, 3, 6, 6), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w)

            @R.function
            def inner(a: R.Tensor((1, 4, 4, 4), "float32")) -> R.Tensor((1, 4, 4, 4), "float32"):
                b = R.add(a, y)
                return b

            z = inner(y)
            R.output(z)
        return z
