# opt: FuseTransposeMatmul
# Batches, and dynamic sizes.
n = TypeVar("n")
m = TypeVar("m")
k = TypeVar("k")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, m, k), "float16"), w: R.Tensor((n, m, k), "float16"), v: R.Tensor((k,), "float16")):
        with R.dataflow():
            t = R.permute_dims(w, axes=[0, 2, 1])
            y = R.matmul(x, t, out_dtype="float32")
            z = R.matmul(v, t)
            R.output(y, z)
        return (y, z)
