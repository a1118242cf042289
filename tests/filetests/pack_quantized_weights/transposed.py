# opt: FakeQuantizationToInteger,FoldConstant,PackQuantizedWeights{min_bytes=1}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float16")):
        with R.dataflow():
            w = R.dequantize(R.const([[1, 50, 0], [-2, 25, 0], [127, 0, 0], [3, -1, 0]], "int8"), R.const([0.5, 0.25, 2, 1], "float16"), R.const([0, 1, 2, 3], "int8"), out_dtype="float16", axis=0)
            t = R.permute_dims(w)
            a = R.matmul(x, t)
            R.output(a)
        return a
