# opt: ConvertToDataflow{min_size=1}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    # Branches have blocks of their own; a conditional is outside of blocks.
    @R.function
    def main(x: R.Tensor((n, 3), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((n, 3), "float32"):
        s = R.shape_of(x)
        a = R.add(x, x)
        if c:
            t = R.exp(a)
            y = R.tanh(t)
        else:
            y = R.negative(a)
        z = R.reshape(y, s)
        w = R.match_cast(z, R.Tensor((n, 3), "float32"))
        return w
