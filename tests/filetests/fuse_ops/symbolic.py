# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
# The size of `full` is in no parameter's type: it becomes a parameter. Constants are parameters.
@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape(["n"])):
        n = T.int64()
        with R.dataflow():
            a = R.full(R.shape([n, n]), R.const(1.0, "float32"))
            b = R.multiply(R.exp(a), R.const(2.0, "float32"))
            R.output(b)
        return b
