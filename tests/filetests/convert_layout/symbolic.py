# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","OHWI"]}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
h = TypeVar("h")

@I.ir_module
class Module:
    # Layouts do not depend on sizes. A checked type is permuted with its value.
    @R.function
    def main(x: R.Tensor((n, 3, h, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        m = T.int64()
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            c = R.match_cast(R.nn.relu(y), R.Tensor((n, 4, m, 6), "float32"))
            t = R.tanh(c)
            R.output(t)
        return t

    # One operand has unknown shape: the other one keeps its layout.
    @R.function
    def unknown_rank(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32"), b: R.Tensor(dtype="float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            t = R.add(y, b)
            R.output(t)
        return t
