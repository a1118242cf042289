# opt: LegalizeOps,AnnotateTIROpPattern,SeparateOutputs
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 6), "float32"), w: R.Tensor((3, 3), "float32")):
        with R.dataflow():
            parts = R.split(x, 2, axis=1)
            a = R.matmul(parts[0], w)
            b = R.matmul(parts[1], w)
            best = R.topk(x, k=2, axis=1)
            values = R.exp(best[0])
            indices = R.add(best[1], R.const(1, "int32"))
            R.output(a, b, values, indices)
        return (a, b, values, indices)
