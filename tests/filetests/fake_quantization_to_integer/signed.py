# opt: FakeQuantizationToInteger,FoldConstant
# Signed bytes between operators become unsigned; those that are visible outside are unchanged.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 1, 8, 8), "float32")):
        with R.dataflow():
            q = R.quantize(R.nn.relu(x), R.const(0.25, "float32"), R.const(-128, "int8"), out_dtype="int8")
            a = R.dequantize(q, R.const(0.25, "float32"), R.const(-128, "int8"), out_dtype="float32")
            pooled = R.nn.max_pool2d(a, pool_size=(2, 2), strides=(2, 2))
            p = R.quantize(pooled, R.const(0.25, "float32"), R.const(-128, "int8"), out_dtype="int8")
            b = R.dequantize(p, R.const(0.25, "float32"), R.const(-128, "int8"), out_dtype="float32")
            k = R.dequantize(R.const([[[[2]]], [[[-3]]]], "int8"), R.const([1.0, 2.0], "float32"), R.const([0, 0], "int8"), out_dtype="float32", axis=0)
            sum = R.nn.conv2d(b, k, padding=(1, 1))
            out = R.quantize(sum, R.const(0.5, "float32"), R.const(3, "int8"), out_dtype="int8")
            R.output(out)
        return out
