# opt: ToMixedPrecision
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Weights and values used only by matmuls are converted once; softmax and result are float32.
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32"), v: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.nn.softmax(b)
            d = R.matmul(R.add(c, x), v)
            out = R.add(d, b)
            R.output(out)
        return out
