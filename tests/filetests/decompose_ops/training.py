# opt: DecomposeOpsForTraining
n = TypeVar("n")
c = TypeVar("c")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, c, 4, 4), "float32"), g: R.Tensor((c,), "float32"), b: R.Tensor((c,), "float32"), m: R.Tensor((c,), "float32"), v: R.Tensor((c,), "float32")):
        with R.dataflow():
            bn = R.nn.batch_norm(x, g, b, m, v, axis=1, scale=False, momentum=0.2)
            y = bn[0]
            mean = bn[1]
            out = (y, mean)
            R.output(out)
        return out
