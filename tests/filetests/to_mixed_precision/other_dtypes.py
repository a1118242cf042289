# opt: ToMixedPrecision{out_dtype="bfloat16"}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@R.function
def main(x: R.Tensor((1, 3), "float32"), weights: R.Tensor((3, 3), "float32")):
    return x
