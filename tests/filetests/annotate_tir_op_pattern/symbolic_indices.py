# opt: LegalizeOps,AnnotateTIROpPattern{symbolic_indices=true}
# Sizes are uniform over all elements; dependences on other elements are unchanged.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), y: R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            a = R.reshape(x, R.shape([n, 8, 8]))
            b = R.concat((y, y), axis=0)
            c = R.flip(y, axis=0)
            d = R.sum(y, axis=0)
            e = R.cumsum(y, axis=0)
            R.output(a, b, c, d, e)
        return (a, b, c, d, e)
