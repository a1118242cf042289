# opt: RemoveRedundantReshape
# A broadcast to the same shape is removed; one to a shape that is or may be different is retained.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), s: R.Shape(ndim=2)):
        n = T.int64()
        with R.dataflow():
            a = R.broadcast_to(x, R.shape([n, 64]))
            b = R.exp(a)
            c = R.broadcast_to(b, R.shape([3, n, 64]))
            d = R.broadcast_to(b, s)
            R.output(c, d)
        return (c, d)
