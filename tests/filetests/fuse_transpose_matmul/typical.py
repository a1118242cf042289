# opt: FuseTransposeMatmul
# A transposed weight with only two users, both matmuls; it is the LHS of one.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 8), "float32"), w: R.Tensor((4, 8), "float32"), v: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            t = R.permute_dims(w, axes=[1, 0])
            y = R.matmul(x, t)
            u = R.permute_dims(v)
            z = R.matmul(u, R.matmul(v, u))
            R.output(y, z)
        return (y, z)
