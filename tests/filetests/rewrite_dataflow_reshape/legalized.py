# opt: LegalizeOps,RewriteDataflowReshape,DeadCodeElimination
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 6), "float32")):
        with R.dataflow():
            a = R.reshape(x, (n * 2, 3))
            b = R.expand_dims(a, axis=[0, 2])
            c = R.squeeze(b, axis=[0])
            d = R.nn.relu(c)
            R.output(d)
        return d
