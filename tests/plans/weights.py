# Low-bit weights.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 256), "float32"), y: R.Tensor((64, 256), "float32")):
        with R.dataflow():
            w = R.broadcast_to(R.const([77], "int8"), (256, 256))
            few = R.matmul(x, R.dequantize(w, R.const(0.5, "float32"), R.const(1, "int8"), axis=-1))
            turned = R.permute_dims(R.dequantize(w, R.const(0.5, "float32"), R.const(2, "int8"), axis=-1))
            many = R.matmul(y, turned)
            other = R.sum(R.dequantize(w, R.const(0.5, "float32"), R.const(3, "int8"), axis=-1))
            R.output(few, many, other)
        return (few, many, other)
