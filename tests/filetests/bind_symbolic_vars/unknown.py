# opt: BindSymbolicVars{binding_map={"n":4,"bach":1}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")
batch = TypeVar("batch")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((batch, n), "float32")):
        return x
