# opt: ReorderTakeAfterMatmul{cheaper=true}
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 64), "float32"), many: R.Tensor((64, 64), "float32"), unknown: R.Tensor((n, 64), "float32"), table: R.Tensor((64, 16), "float32"), big: R.Tensor((64, 1024), "float32"), matrices: R.Tensor((2, 64, 4), "float32"), i: R.Tensor((8,), "int64"), j: R.Tensor((1,), "int64")):
        with R.dataflow():
            yes = R.matmul(x, R.take(table, i, axis=1))
            few_of_many = R.matmul(x, R.take(big, i, axis=1))
            many_rows = R.matmul(many, R.take(table, i, axis=1))
            any_rows = R.matmul(unknown, R.take(table, i, axis=1))
            chosen = R.take(matrices, j, axis=0)
            of_matrices = R.matmul(R.reshape(x, (1, 1, 64)), chosen)
            twice = R.take(table, j, axis=1)
            shared = R.add(R.matmul(x, twice), R.matmul(R.exp(x), twice))
            known = R.matmul(x, R.take(R.ones((64, 4), "float32"), R.const([1, 2]), axis=1))
            out = (yes, few_of_many, many_rows, any_rows, of_matrices, shared, known)
            R.output(out)
        return out
