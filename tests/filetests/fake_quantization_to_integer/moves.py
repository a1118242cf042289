# opt: FakeQuantizationToInteger
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 8), "uint8"), y: R.Tensor((1, 4, 8), "uint8"), s: R.Tensor((8,), "float32")):
        with R.dataflow():
            one, zero = R.const(0.5, "float32"), R.const(7, "uint8")
            a = R.dequantize(x, one, zero, out_dtype="float32")
            b = R.dequantize(y, R.const(0.25, "float32"), zero, out_dtype="float32")
            joined = R.quantize(R.concat((a, b), axis=1), one, zero, out_dtype="uint8")
            parts = R.split(R.reshape(a, R.shape([8, 4])), 2, axis=0)
            first = R.quantize(parts[0], one, zero, out_dtype="uint8")
            along = R.permute_dims(R.dequantize(x, s, zero, out_dtype="float32", axis=2), axes=[2, 0, 1])
            out = (joined, first, along)
            R.output(out)
        return out
