# opt: UpdateParamType{types={"main.w":{"dtype":"float16"},"x":{"shape":["n",8],"dtype":"float16"}}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 8), "float32"), w: R.Tensor((8, m), "float32"), c: R.Tensor((), "bool")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.exp(y)
            u = R.exp(w)
            R.output(z, u)
        if c:
            r = R.sin(z)
        else:
            r = z
        return (r, u)

    @R.function
    def other(w: R.Tensor((8, m), "float32")):
        return w
