# opt: CombineParallelMatmul{known_weights=true,max_rows=2}
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 2), "float32"), y: R.Tensor((3, 2), "float32"), z: R.Tensor((n, 2), "float32")):
        with R.dataflow():
            a = R.matmul(x, R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))
            b = R.matmul(x, R.const([[5.0, 6.0], [7.0, 8.0]], "float32"))
            c = R.matmul(y, R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))
            d = R.matmul(y, R.const([[5.0, 6.0], [7.0, 8.0]], "float32"))
            e = R.matmul(z, R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))
            f = R.matmul(z, R.const([[5.0, 6.0], [7.0, 8.0]], "float32"))
            out = (a, b, c, d, e, f)
            R.output(out)
        return out
