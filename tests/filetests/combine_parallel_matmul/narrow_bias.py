# opt: CombineParallelMatmul
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32"), one: R.Tensor((1,), "float32")):
        with R.dataflow():
            y = R.add(R.matmul(x, a), one)
            z = R.add(R.matmul(x, b), one)
            out = (y, z)
            R.output(out)
        return out
