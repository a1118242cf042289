# opt: LegalizeOps,AnnotateTIROpPattern,SeparateOutputs,FuseOps,FuseTIR
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 6), "float32")) -> R.Tensor((n, 3), "float32"):
        with R.dataflow():
            parts = R.split(x, 2, axis=1)
            a = parts[0]
            b = R.sigmoid(parts[1])
            y = R.multiply(a, b)
            R.output(y)
        return y
