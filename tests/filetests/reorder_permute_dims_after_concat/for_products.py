# opt: ReorderPermuteDimsAfterConcat{for_products=true}
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8), "float32"), a: R.Tensor((4, 8), "float32"), b: R.Tensor((6, 8), "float32"), c: R.Tensor((n, 8), "float32")):
        with R.dataflow():
            weights = R.matmul(x, R.concat((R.permute_dims(a), R.permute_dims(b)), axis=1))
            back = R.permute_dims(R.concat((R.permute_dims(a), R.permute_dims(c)), axis=-1))
            copied = R.exp(R.concat((R.permute_dims(b), R.permute_dims(c)), axis=1))
            both = R.concat((R.permute_dims(b), R.permute_dims(a)), axis=1)
            used_twice = R.add(R.matmul(x, both), R.matmul(c, both))
            out = (weights, back, copied, used_twice)
            R.output(out)
        return out
