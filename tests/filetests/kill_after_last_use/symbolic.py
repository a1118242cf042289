# opt: KillAfterLastUse
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((n, 4), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        y = x
        a = R.add(y, y)
        t = (a, y)
        b = R.match_cast(a, R.Tensor((n, 4), dtype="float32"))
        c = R.exp(t[0])
        d = R.add(b, c)
        return d
