# opt: ReorderTakeAfterMatmul
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 8), "float32"), table: R.Tensor((8, 100), "float32"), i: R.Tensor((5,), "int64")):
        with R.dataflow():
            w = R.take(table, i, axis=-1)
            y = R.matmul(x, w)
            R.output(y)
        return y
