# opt: ReorderTakeAfterMatmul
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 8), "float32"), table: R.Tensor((16, 8, 4), "float32"), rows: R.Tensor((8, 8), "float32"), i: R.Tensor((3,), "int64")):
        with R.dataflow():
            w = R.take(table, i, axis=0)
            broadcast = R.matmul(x, w)
            r = R.take(rows, i, axis=0)
            y = R.matmul(R.reshape(x, (1, 8)), R.permute_dims(r))
            out = (broadcast, y)
            R.output(out)
        return out
