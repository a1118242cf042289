# opt: PackQuantizedWeights{min_bytes=1}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), n: R.Tensor((3, 2), "int8")):
        with R.dataflow():
            # Scales of rows, a matrix that is no constant, and one that no matmul reads.
            w = R.dequantize(R.const([[1, 50], [-2, 25], [127, 0]], "int8"), R.const([0.5, 0.25, 2], "float32"), R.const(0, "int8"), out_dtype="float32", axis=0)
            a = R.matmul(x, w)
            d = R.dequantize(n, R.const(0.5, "float32"), R.const(0, "int8"), out_dtype="float32", axis=-1)
            b = R.matmul(x, d)
            e = R.dequantize(R.const([[1, 50], [-2, 25]], "int8"), R.const(0.5, "float32"), R.const(0, "int8"), out_dtype="float32", axis=-1)
            c = R.add(R.add(a, b), e)
            R.output(c)
        return c
