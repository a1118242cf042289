# opt: ToMixedPrecision
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Matmuls of integers and of float64 are unchanged, and so is everything outside of dataflow blocks.
    @R.function
    def main(x: R.Tensor((4, 8), "int8"), w: R.Tensor((8, 8), "int8"), y: R.Tensor((4, 4), "float64"), z: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w, out_dtype="int32")
            b = R.matmul(y, y)
            c = R.nn.relu(z)
            R.output(a, b, c)
        d = R.matmul(c, c)
        return (a, b, d)
