# Grouped-query attention over a KV cache.
@I.ir_module
class Module:
    @R.function
    def main(
        q: R.Tensor(("b", 4, "s", 16), "float32"),
        old: R.Tensor(("b", 2, "p", 16), "float32"),
        new: R.Tensor(("b", 2, "s", 16), "float32"),
        last: R.Tensor((16, 40), "float32"),
    ):
        b = T.int64()
        s = T.int64()
        p = T.int64()
        with R.dataflow():
            all = R.concat((old, new), axis=2)
            each = R.broadcast_to(R.reshape(all, (b, 2, 1, p + s, 16)), (b, 2, 2, p + s, 16))
            heads = R.reshape(each, (b, 4, p + s, 16))
            found = R.matmul(q, R.permute_dims(heads, [0, 1, 3, 2]))
            mixed = R.matmul(R.nn.softmax(found), heads)
            end = R.matmul(mixed, last)
            R.output(all, end)
        return (all, end)
