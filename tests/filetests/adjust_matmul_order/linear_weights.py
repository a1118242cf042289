# opt: AdjustMatmulOrder
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 5, 16), "float32"), a: R.Tensor((32, 2), "float32"), b: R.Tensor((2, 16), "float32")):
        with R.dataflow():
            ab = R.matmul(a, b)
            w = R.permute_dims(ab)
            y = R.matmul(x, w)
            R.output(y)
        return y
