# opt: ConvertLayout{desired_layouts={"relax.nn.conv2":["NHWC","OHWI"]}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@R.function
def main(x: R.Tensor((1, 3, 8, 8), "float32")):
    return x
