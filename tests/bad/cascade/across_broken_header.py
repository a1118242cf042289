from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def helper(x: R.Tensor((2, 3), "float32"), y):
        return R.add(x, y)

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a = Module.helper(x, x)
        b = Module.helper(x)
        c = R.sum(a, dim=1)
        return c
