# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NCHW4c","OIHW4o"]}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    # 8 * n channels are a multiple of 4.
    @R.function
    def main(x: R.Tensor((n, n * 8, 6, 6), "float32"), w: R.Tensor((4, n * 8, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            R.output(y)
        return y

    # n channels may not be a multiple.
    @R.function
    def stays(x: R.Tensor((1, n, 6, 6), "float32"), w: R.Tensor((4, n, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            R.output(y)
        return y
