from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def helper(x: R.Tensor((2, 3), "float32")):
        y = R.matmul(x, x)
        return y

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a = Module.helper(x)
        b = R.add(a, x)
        c = R.sum(b, dim=1)
        d = Module.helper(x, c)
        return d
