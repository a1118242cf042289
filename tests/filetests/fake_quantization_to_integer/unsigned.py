# opt: FakeQuantizationToInteger,FoldConstant
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2), "int8")):
        with R.dataflow():
            a = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "int8"), out_dtype="float32")
            half = R.dequantize(R.const([[130, 120], [0, 255]], "uint8"), R.const(0.5, "float32"), R.const(128, "uint8"), out_dtype="float32")
            other = R.dequantize(R.const([[130, 120], [0, 255]], "uint8"), R.const(0.5, "float32"), R.const([130, 120], "uint8"), out_dtype="float32", axis=1)
            out = (R.matmul(a, half), R.matmul(a, other))
            R.output(out)
        return out
