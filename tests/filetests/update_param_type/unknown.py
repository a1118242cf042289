# opt: UpdateParamType{types={"wieght":{"dtype":"float16"}}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(weight: R.Tensor((8, m), "float32")):
        return weight
