# opt: LegalizeOps,AnnotateTIROpPattern
# One operator of each class: elementwise, broadcast, injective, reduction, contraction, and softmax.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 8), "float32"), b: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            c = R.broadcast_to(b, (8, 8))
            d = R.permute_dims(x, axes=[1, 0])
            e = R.sum(x, axis=[1])
            f = R.matmul(x, x)
            g = R.nn.softmax(x, axis=1)
            R.output(a, c, d, e, f, g)
        return (a, c, d, e, f, g)
