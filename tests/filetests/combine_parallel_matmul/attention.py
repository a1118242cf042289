# opt: CombineParallelMatmul
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8), "float32"), wq: R.Tensor((16, 8), "float32"), wk: R.Tensor((4, 8), "float32"), wv: R.Tensor((4, 8), "float32"), bq: R.Tensor((16,), "float32"), bk: R.Tensor((4,), "float32"), bv: R.Tensor((4,), "float32")):
        with R.dataflow():
            tq = R.permute_dims(wq)
            q = R.matmul(x, tq)
            qb = R.add(q, bq)
            q4 = R.reshape(qb, (n, 4, 4))
            tk = R.permute_dims(wk)
            k = R.matmul(x, tk)
            kb = R.add(k, bk)
            tv = R.permute_dims(wv)
            v = R.matmul(x, tv)
            vb = R.add(v, bv)
            out = (q4, kb, vb)
            R.output(out)
        return out
