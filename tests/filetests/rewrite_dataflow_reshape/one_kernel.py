# opt: LegalizeOps,RewriteDataflowReshape,DeadCodeElimination
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function(private=True)
    def fused(x: R.Tensor((n, 6), "float32")) -> R.Tensor((n * 2, 3), "float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = R.reshape(x, (n * 2, 3))
            b = R.nn.relu(a)
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor((n, 6), "float32")):
        with R.dataflow():
            a = Module.fused(x)
            R.output(a)
        return a
