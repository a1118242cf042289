# opt: ExpandMatmulOfSum
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 8), "float32"), a: R.Tensor((4, 8), "float32"), b: R.Tensor((4, 8), "float32"), c: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            ab = R.add(a, b)
            abc = R.add(ab, c)
            w = R.permute_dims(abc)
            y = R.matmul(x, w)
            R.output(y)
        return y
