# opt: FakeQuantizationToInteger
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 8, 8), "uint8"), w: R.Tensor((3, 2, 3, 3), "int8"), v: R.Tensor((3,), "float32"), b: R.Tensor((3,), "int32")):
        with R.dataflow():
            a = R.dequantize(x, R.const(0.5, "float32"), R.const(7, "uint8"), out_dtype="float32")
            k = R.dequantize(w, v, R.const([0, 0, 0], "int8"), out_dtype="float32", axis=0)
            c = R.dequantize(b, v, R.const([0, 0, 0], "int32"), out_dtype="float32", axis=0)
            product = R.nn.conv2d(a, k, padding=1)
            sum = R.add(product, R.reshape(c, R.shape([1, 3, 1, 1])))
            y = R.quantize(R.nn.relu(sum), R.const(0.25, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            R.output(y)
        return y
