# opt: PackQuantizedWeights{min_bytes=1}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            w = R.dequantize(R.const([[1, 50, 0], [-2, 25, 0], [127, 0, 0], [3, -1, 0]], "int8"), R.const([0.5, 0.25, 2], "float32"), R.const(0, "int8"), out_dtype="float32", axis=1)
            a = R.matmul(x, w)
            u = R.dequantize(R.const([[1, 15, 0, 7], [2, 5, 0, 9], [12, 0, 0, 3]], "uint8"), R.const(0.5, "float32"), R.const(8, "uint8"), out_dtype="float32", axis=-1)
            b = R.matmul(a, u)
            R.output(b)
        return b
