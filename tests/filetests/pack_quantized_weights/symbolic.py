# opt: PackQuantizedWeights{min_bytes=1}
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), v: R.Tensor((3,), "float32")):
        n = T.int64()
        with R.dataflow():
            w = R.dequantize(R.const([[1, -8, 0], [-2, 7, 0]], "int8"), R.const([0.5, 0.25, 2], "float32"), R.const([1, 0, 0], "int8"), out_dtype="float32", axis=1)
            a = R.matmul(x, w)
            b = R.matmul(w, v)
            c = (a, b)
            R.output(c)
        return c
