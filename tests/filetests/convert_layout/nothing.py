# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","OHWI"]}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Nothing outside of dataflow blocks is converted, and no block has a convolution.
    @R.function
    def main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.nn.softmax(a, axis=1)
            R.output(b)
        y = R.nn.conv2d(b, w)
        return y
