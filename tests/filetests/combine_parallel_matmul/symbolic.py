# opt: CombineParallelMatmul
n = TypeVar("n")
m = TypeVar("m")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 8), "float32"), a: R.Tensor((8, n), "float32"), b: R.Tensor((8, 4), "float32"), c: R.Tensor((8, m), "float32")):
        with R.dataflow():
            xa = R.nn.relu(R.matmul(x, a))
            xb = R.nn.relu(R.matmul(x, b))
            xc = R.nn.relu(R.matmul(x, c))
            out = (xa, xb, xc)
            R.output(out)
        return out
