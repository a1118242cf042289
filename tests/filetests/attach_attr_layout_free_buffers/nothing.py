# opt: AttachAttrLayoutFreeBuffers
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # No kernel is called.
    @R.function
    def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        R.func_attr({"num_input": 1})
        a = R.matmul(x, w)
        return a
