# opt: Normalize,DataflowUseInplaceCalls
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

a = TypeVar("a")
b = TypeVar("b")
c = TypeVar("c")
@I.ir_module
class Module:
    # `w` may have another shape than `v`.
    @R.function
    def main(x: R.Tensor((a, b), dtype="float32"), y: R.Tensor((a, b), dtype="float32"), u: R.Tensor((c, b), dtype="float32")) -> R.Tensor(dtype="float32", ndim=2):
        with R.dataflow():
            z = R.add(x, y)
            s = R.subtract(z, y)
            v = R.nn.relu(s)
            w = R.add(v, u)
            R.output(w)
        return w
