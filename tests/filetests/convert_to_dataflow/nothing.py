# opt: ConvertToDataflow{min_size=3}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Too few bindings.
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a = R.add(x, x)
        b = R.exp(a)
        return b
