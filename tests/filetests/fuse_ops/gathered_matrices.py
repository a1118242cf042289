# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps{widened_weights=true}
# The matrices that indices select are read in place; gathered rows are computed once.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("t", 1, 32), "float32"), w: R.Tensor((8, 32, 16), "float32"), expert: R.Tensor(("t",), "int64"), table: R.Tensor((50, 32), "float32"), tokens: R.Tensor((4,), "int64")):
        with R.dataflow():
            matrices = R.take(w, expert, axis=0)
            product = R.matmul(x, matrices)
            rows = R.take(table, tokens, axis=0)
            other = R.matmul(rows, R.take(w, R.const(3, "int64"), axis=0))
            out = (product, other)
            R.output(out)
        return out
