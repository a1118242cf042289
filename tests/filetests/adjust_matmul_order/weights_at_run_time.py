# opt: AdjustMatmulOrder{known_weights=false}
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 16), "float32"), a: R.Tensor((16, 2), "float32"), b: R.Tensor((2, 16), "float32"), c: R.Tensor((16, 4), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            xa = R.matmul(x, a)
            xab = R.matmul(xa, b)
            y = R.matmul(xab, c)
            R.output(y)
        return y
