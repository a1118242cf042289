# opt: BundleModelParams
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16,), "float32"), w: R.Tensor((16,), "float32"), v: R.Tensor((16,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.add(x, w)
            b = R.multiply(R.add(a, w), v)
            R.output(b)
        return (b, w)

    @R.function(private=True)
    def scale(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 1})
        y: R.Tensor((4,), "float32") = R.multiply(x, w)
        return y

    @R.function
    def caller(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
        y = Module.scale(x, w)
        return y
