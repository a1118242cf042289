# Attention over long keys, of a known and of any number.
@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((2, 81, 128), "float32"), k: R.Tensor((2, 1000, 128), "float32"), v: R.Tensor((2, 1000, 128), "float32")):
        with R.dataflow():
            p = R.nn.softmax(R.matmul(q, R.permute_dims(k, axes=[0, 2, 1])), axis=-1)
            y = R.matmul(p, v)
            R.output(y)
        return y

    @R.function
    def any(q: R.Tensor((2, 32, 128), "float32"), k: R.Tensor((2, "n", 128), "float32"), v: R.Tensor((2, "n", 128), "float32")):
        n = T.int64()
        with R.dataflow():
            p = R.nn.softmax(R.matmul(q, R.permute_dims(k, axes=[0, 2, 1])), axis=-1)
            y = R.matmul(p, v)
            R.output(y)
        return y

    # Queries are multiplied once, not for each block of keys. Tiles have a multiple of four rows.
    @R.function
    def scaled(q: R.Tensor((2, 81, 128), "float32"), k: R.Tensor((2, 128, 512), "float32"), v: R.Tensor((2, 512, 128), "float32")):
        with R.dataflow():
            p = R.nn.softmax(R.matmul(R.multiply(q, R.const(0.088, "float32")), k), axis=-1)
            y = R.matmul(p, v)
            R.output(y)
        return y
