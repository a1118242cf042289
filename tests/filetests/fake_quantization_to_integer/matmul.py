# opt: FakeQuantizationToInteger
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4, 8), "uint8"), y: R.Tensor(("n", 8, 5), "uint8"), w: R.Tensor((6, 8), "int8"), s: R.Tensor((6,), "float32"), z: R.Tensor((), "uint8")):
        with R.dataflow():
            a = R.dequantize(x, R.const(0.5, "float32"), z, out_dtype="float32")
            b = R.dequantize(y, R.const(0.25, "float32"), R.const(128, "uint8"), out_dtype="float32")
            both = R.matmul(a, b)
            k = R.dequantize(w, s, R.const([0, 0, 0, 0, 0, 0], "int8"), out_dtype="float32", axis=0)
            one = R.matmul(a, R.permute_dims(k))
            whole = R.matmul(R.subtract(R.astype(x, "int32"), R.astype(z, "int32")), R.permute_dims(R.astype(w, "int32")), out_dtype="int32")
            out = (both, one, whole)
            R.output(out)
        return out
