# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
# Outside of dataflow blocks nothing is fused, nor into something that is used elsewhere.
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
