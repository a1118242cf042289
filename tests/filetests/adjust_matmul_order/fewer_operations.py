# opt: AdjustMatmulOrder
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 64), "float32"), a: R.Tensor((64, 2), "float32"), b: R.Tensor((2, 64), "float32"), c: R.Tensor((64, 64), "float32")):
        with R.dataflow():
            ab = R.matmul(a, b)
            y = R.matmul(x, ab)
            z = R.matmul(y, c)
            R.output(z)
        return z
