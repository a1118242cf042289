# opt: FuseTransposeMatmul{max_rows=2}
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 8), "float32"), more: R.Tensor((2, 2, 8), "float32"), unknown: R.Tensor((n, 8), "float32"), w: R.Tensor((4, 8), "float32"), keys: R.Tensor((2, n, 8), "float32"), twice: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            yes = R.matmul(x, R.permute_dims(w))
            each_of_a_batch = R.matmul(more, R.permute_dims(keys, [0, 2, 1]))
            of_a_batch = R.matmul(more, R.permute_dims(w))
            any_rows = R.matmul(unknown, R.permute_dims(w))
            t = R.permute_dims(twice)
            shared = R.add(R.matmul(x, t), R.matmul(R.exp(x), t))
            out = (yes, each_of_a_batch, of_a_batch, any_rows, shared)
            R.output(out)
        return out
