# opt: LegalizeOps,AnnotateTIROpPattern,SeparateOutputs
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 6), "float32"), w: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            parts = R.split(x, 3, axis=1)
            a = R.matmul(parts[0], w)
            b = R.exp(parts[1])
            c = R.sum(b)
            R.output(a, c)
        return (a, c)
