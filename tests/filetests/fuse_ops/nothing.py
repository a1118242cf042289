# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
# Nothing is fused outside of dataflow blocks, nor into a value with other users.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            R.output(a)
        b = R.negative(a)
        c = R.tanh(b)
        return (a, c)
