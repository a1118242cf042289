# opt: FakeQuantizationToInteger,FoldConstant
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 1, 8, 8), "uint8")):
        with R.dataflow():
            a = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "uint8"), out_dtype="float32")
            k = R.dequantize(R.const([[[[2]]], [[[-3]]]], "int8"), R.const([1.0, 2.0], "float32"), R.const([0, 0], "int8"), out_dtype="float32", axis=0)
            product = R.nn.conv2d(a, k)
            sum = R.add(product, R.const([[[1.5]], [[2.5]]], "float32"))
            q = R.quantize(R.clip(sum, 0, 6), R.const(0.25, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            once = R.dequantize(q, R.const(0.25, "float32"), R.const(3, "uint8"), out_dtype="float32")
            pooled = R.nn.max_pool2d(once, pool_size=(2, 2), strides=(2, 2))
            same = R.quantize(pooled, R.const(0.25, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            more = R.dequantize(same, R.const(0.25, "float32"), R.const(3, "uint8"), out_dtype="float32")
            twice = R.quantize(R.add(more, more), R.const(0.5, "float32"), R.const(0, "int8"), out_dtype="int8")
            R.output(twice)
        return twice
