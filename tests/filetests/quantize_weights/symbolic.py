# opt: QuantizeWeights{group=2,min_bytes=1}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 5, 4), "float16"), y: R.Tensor((n,), "float32")):
        a = R.matmul(x, R.const([[1, 0.5], [-2, 0.25], [0, 0], [3, -1]], "float16"), out_dtype="float32")
        b = R.match_cast(y, R.Tensor((3,), "float32"))
        c = R.matmul(b, R.const([[1], [2], [3]], "float32"))
        return (a, c)
