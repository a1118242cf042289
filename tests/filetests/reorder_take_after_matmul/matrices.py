# opt: ReorderTakeAfterMatmul
b = TypeVar("b")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((b, 1, 8), "float32"), table: R.Tensor((16, 8, 4), "float32"), i: R.Tensor((b,), "int64")):
        with R.dataflow():
            w = R.take(table, i, axis=0, mode="clip")
            y = R.matmul(x, w)
            R.output(y)
        return y
