# Every class of kernels.
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((64, 96), "float32"),
        w: R.Tensor((96, 200), "float32"),
        v: R.Tensor((200, 96), "float32"),
        image: R.Tensor((1, 3, 32, 32), "float32"),
        taps: R.Tensor((16, 3, 3, 3), "float32"),
        s: R.Tensor(("n", 96), "float32"),
        q: R.Tensor((1, 48, 2, 32), "float32"),
        each: R.Tensor((3, 1, 3, 3), "float32"),
        wide: R.Tensor((3, 1, 7, 7), "float32"),
        up: R.Tensor((3, 4, 3, 4), "float32"),
    ):
        with R.dataflow():
            product = R.nn.relu(R.matmul(x, w))
            across = R.matmul(x, R.permute_dims(v))
            one_row = R.matmul(R.strided_slice(x, axes=[0], begin=[0], end=[1]), R.permute_dims(v))
            soft = R.nn.softmax(x, axis=-1)
            columns = R.sum(x, axis=[0])
            rows = R.max(x, axis=[1])
            turned = R.exp(R.permute_dims(x))
            chain = R.tanh(R.add(s, s))
            window = R.nn.conv2d(image, taps, strides=(2, 2), padding=(1, 1))
            heads = R.nn.attention(q, q, q)
            alone = R.nn.conv2d(image, each, padding=(1, 1), groups=3)
            large = R.nn.conv2d(image, wide, padding=(3, 3), groups=3)
            steps = R.nn.conv2d(image, wide, strides=(2, 2), padding=(3, 3), groups=3)
            patches = R.permute_dims(R.nn.conv2d(image, taps, strides=(4, 4)), axes=[0, 2, 3, 1])
            flat = R.reshape(R.nn.gelu(R.reshape(v, R.shape([1, 10, 20, 96]))), R.shape([200, 96]))
            spread = R.nn.conv2d_transpose(image, up, strides=(2, 2), padding=(1, 1), output_padding=(1, 0))
            sides = R.add(R.einsum((x, v), "ik,jk->ij"), R.einsum((x, flat), "ik,jk->ij"))
            made = (product, across, one_row, soft, columns, rows, turned, chain, window, heads, alone)
            more = (large, steps, patches, flat, spread, sides)
            R.output(made, more)
        return (made, more)
