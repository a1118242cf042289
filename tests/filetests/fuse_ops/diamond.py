# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
# Both paths from `exp` lead to `add`; fields of `split` are fused with their users. Equal groups share a function.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 8), "float32"), y: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(R.sin(a), R.cos(a))
            c = R.exp(y)
            d = R.add(R.sin(c), R.cos(c))
            e = R.matmul(b, d)
            t = R.split(e, 2, axis=1)
            f = R.multiply(t[0], R.sigmoid(t[1]))
            R.output(f)
        return f
