# opt: AllocateWorkspace
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function(private=True)
    def f(q: R.Tensor((n,), dtype="float16")) -> R.Tensor((n,), dtype="float16"):
        R.func_attr({"Codegen": "cutlass", "WorkspaceSize": 64})
        gv = R.exp(q)
        return gv

    # Used in two blocks, so it is visible outside of the first.
    @R.function
    def main(q: R.Tensor((n,), dtype="float16")) -> R.Tensor((n,), dtype="float16"):
        cls = Module
        with R.dataflow():
            a = cls.f(q)
            R.output(a)
        b = cls.f(a)
        return b
