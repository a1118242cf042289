# opt: FuseTransposeMatmul
# Other axes, a transposed LHS, a vector, an unknown shape, and calls outside of dataflow blocks.
n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 8, 8), "float32"), y: R.Tensor((8,), "float32"), u: R.Tensor(ndim=2, dtype="float32")):
        with R.dataflow():
            a = R.matmul(x, R.permute_dims(x, axes=[1, 0, 2]))
            b = R.matmul(R.permute_dims(x, axes=[0, 2, 1]), a)
            c = R.matmul(b, R.permute_dims(y))
            d = R.matmul(u, R.permute_dims(u))
            R.output(c, d)
        outside = R.permute_dims(x, axes=[0, 2, 1])
        e = R.matmul(x, outside)
        return (c, d, e)
