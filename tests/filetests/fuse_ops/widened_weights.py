# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps{widened_weights=true}
# Low-bit weights are upcast in the group that uses them; an upcast scalar does not make the values computed with it a
# weight.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 32), "float32"), w: R.Tensor((32, 16), "int8"), q: R.Tensor((16, 4), "int32"), zero: R.Tensor((), "int8")):
        with R.dataflow():
            wide = R.astype(w, dtype="float32")
            narrow = R.matmul(x, wide)
            by = R.astype(zero, dtype="int32")
            less = R.subtract(q, by)
            turned = R.permute_dims(less)
            real = R.astype(turned, dtype="float32")
            rows = R.matmul(x, R.matmul(wide, R.permute_dims(real)))
            out = (narrow, rows)
            R.output(out)
        return out
