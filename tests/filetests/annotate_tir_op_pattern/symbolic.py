# opt: LegalizeOps,AnnotateTIROpPattern
# Sizes are not axes: `x[i + n]` is injective.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.concat((x, y), axis=0)
            R.output(a, b)
        return (a, b)
