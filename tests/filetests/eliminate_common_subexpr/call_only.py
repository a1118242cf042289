# opt: EliminateCommonSubexpr{call_only=true}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), p: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
        a = p[0]
        b = p[0]
        c = R.exp(x)
        d = R.exp(x)
        e = R.add(a, c)
        f = R.add(b, d)
        return (e, f)
