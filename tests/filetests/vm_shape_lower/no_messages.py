# opt: VMShapeLower{emit_err_ctx=false}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, m), "float32")):
        R.func_attr({"relax.force_pure": True})
        y = R.match_cast(x, R.Tensor((n, m), "float32"))
        return y
