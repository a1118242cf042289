# opt: FakeQuantizationToInteger
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 8, 8), "uint8"), w: R.Tensor((3, 2, 3, 3), "uint8"), m: R.Tensor((2, 40000), "int8"), v: R.Tensor((40000, 2), "int8"), s: R.Tensor((), "float32")):
        with R.dataflow():
            # A convolution weight with a zero point, sums that overflow int32, and a scale that is not constant.
            a = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "uint8"), out_dtype="float32")
            k = R.dequantize(w, R.const(0.5, "float32"), R.const(7, "uint8"), out_dtype="float32")
            product = R.nn.conv2d(a, k)
            left = R.dequantize(m, R.const(0.5, "float32"), R.const(0, "int8"), out_dtype="float32")
            right = R.dequantize(v, R.const(0.5, "float32"), R.const(0, "int8"), out_dtype="float32")
            long = R.matmul(left, right)
            other = R.quantize(product, s, R.const(0, "uint8"), out_dtype="uint8")
            out = (other, long)
            R.output(out)
        return out
