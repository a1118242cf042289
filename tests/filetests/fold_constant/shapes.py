# opt: FoldConstant
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32"), y: R.Tensor((n, 4), "float32")):
        with R.dataflow():
            s = R.shape_of(x)
            t = R.shape_to_tensor(s)
            last = R.take(t, R.const([2, 1, 0], "int64"), axis=0)
            backwards = R.tensor_to_shape(last)
            r: R.Tensor(backwards, "float32") = R.reshape(x, backwards)
            u: R.Tensor(backwards, "float32") = R.exp(r)
            own = R.shape_of(y)
            z = R.zeros(own, "float32")
            R.output(u, z)
        return (u, z)
