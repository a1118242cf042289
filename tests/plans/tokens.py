# Attention with interleaved heads, over a dynamic number of tokens.
b = TypeVar("b")
m = TypeVar("m")
@I.ir_module
class Module:
    @R.function
    def main(tokens: R.Tensor((b, m, 64), "float32")):
        with R.dataflow():
            split = R.permute_dims(R.reshape(tokens, R.shape([b, m, 2, 32])), axes=[0, 2, 1, 3])
            scores = R.divide(R.matmul(split, R.permute_dims(split, axes=[0, 1, 3, 2])), R.const(5.6, "float32"))
            mixed = R.permute_dims(R.matmul(R.nn.softmax(scores), split), axes=[0, 2, 1, 3])
            joined = R.reshape(mixed, R.shape([b, m, 64]))
            R.output(joined)
        return joined
