# opt: CombineParallelMatmul{known_weights=true}
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")):
        with R.dataflow():
            a = R.matmul(x, R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))
            b = R.matmul(x, w)
            c = R.matmul(x, R.const([[5.0, 6.0], [7.0, 8.0]], "float32"))
            out = (a, b, c)
            R.output(out)
        return out
