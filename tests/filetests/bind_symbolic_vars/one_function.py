# opt: BindSymbolicVars{binding_map={"n":4},func_name="main"}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n,), "float32"), count: T.int64):
        return R.full(R.shape([n + count]), R.const(1, "float32"), "float32")

    @R.function
    def other(x: R.Tensor((n,), "float32")):
        return x
