# opt: QuantizeWeights{min_bytes=1,scale_after=false},QuantizeActivations
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 3, 32), "float32")):
        y = R.matmul(x, R.const([[-6, -5], [1, 0], [-5, 5], [2, -1], [-4, 4], [3, -2], [-3, 3], [4, -3], [-2, 2], [5, -4], [-1, 1], [6, -5], [0, 0], [-6, 5], [1, -1], [-5, 4], [2, -2], [-4, 3], [3, -3], [-3, 2], [4, -4], [-2, 1], [5, -5], [-1, 0], [6, 5], [0, -1], [-6, 4], [1, -2], [-5, 3], [2, -3], [-4, 2], [3, -4]], "float32"))
        return y
