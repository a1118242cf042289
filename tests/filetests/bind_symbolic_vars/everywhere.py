# opt: BindSymbolicVars{binding_map={"n":4,"k":2}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")
k = TypeVar("k")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, m), "float32"), y: R.Tensor(ndim=1)) -> R.Tensor((n * 2, m), "float32"):
        with R.dataflow():
            both = R.concat((x, x), axis=0)
            last = R.strided_slice(both, axes=[0], begin=[n], end=[n * 2 - 1])
            cast = R.match_cast(y, R.Tensor((k,), "float32"))
            more = R.broadcast_to(cast, (n + 1, k))
            R.output(both, last, more)
        return both

    @R.function
    def other(x: R.Tensor((n,), "float32")):
        return x
