# opt: AllocateWorkspace
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # No workspace is requested: the attribute has no effect on functions that are compiled here.
    @R.function
    def f(q: R.Tensor((8,), dtype="float16")) -> R.Tensor((8,), dtype="float16"):
        R.func_attr({"WorkspaceSize": 64})
        gv = R.exp(q)
        return gv
