# opt: UpdateParamType{types={"w":{"dtype":"float16"}}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 8), "float32"), w: R.Tensor((8, m), "float32")):
        y = R.matmul(x, w)
        return y
