# opt: ToMixedPrecision{dtype="bfloat16",fp16_input_names=["w"]}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    # The weight is passed in 16 bits; uses in float32 convert it first.
    @R.function
    def main(x: R.Tensor((n, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            s = R.split(a, 2, axis=1)
            t = (s[0], s[1])
            b = R.matmul(t[0], R.permute_dims(t[1]))
            R.output(b)
        total = R.sum(w)
        return (b, total)
