# opt: VMShapeLower
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 2), dtype="float32"), y: R.Tensor(dtype="float32", ndim=1)):
        R.func_attr({"relax.force_pure": True})
        m = T.int64()
        z = R.match_cast(y, R.Tensor((m,), dtype="float32"))
        a = R.call_packed("vm.builtin.reshape", x, R.shape([2, n]), ty_args=(R.Tensor((2, n), dtype="float32"),))
        b = R.call_packed("vm.builtin.reshape", z, R.shape([1, m]), ty_args=(R.Tensor((1, m), dtype="float32"),))
        return (a, b)
