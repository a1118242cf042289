# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d_transpose":["NHWC","HWIO"]},cheaper=true}
n = TypeVar("n")
@I.ir_module
class Module:
    # Each phase has every second of 18 positions: 9 do not fill vectors, 128 channels do.
    @R.function
    def yes(x: R.Tensor((1, 256, 9, 9), "float32")) -> R.Tensor((1, 128, 18, 18), "float32"):
        with R.dataflow():
            a = R.nn.conv2d_transpose(x, R.ones((256, 128, 4, 4), "float32"), strides=2, padding=1)
            b = R.nn.relu(a)
            R.output(b)
        return b

    @R.function
    def rows_fill_vectors(x: R.Tensor((1, 128, 16, 16), "float32")) -> R.Tensor((1, 64, 32, 32), "float32"):
        with R.dataflow():
            a = R.nn.conv2d_transpose(x, R.ones((128, 64, 2, 2), "float32"), strides=2)
            R.output(a)
        return a

    # The permutes would take longer than the few multiplications that remain without inserted zeros.
    @R.function
    def too_little(x: R.Tensor((n, 16, 7, 7), "float32")) -> R.Tensor((n, 16, 14, 14), "float32"):
        with R.dataflow():
            a = R.nn.conv2d_transpose(x, R.ones((16, 16, 2, 2), "float32"), strides=2)
            R.output(a)
        return a

    # Adjacent channels of several groups read different data.
    @R.function
    def groups(x: R.Tensor((n, 128, 14, 14), "float32")) -> R.Tensor((n, 128, 28, 28), "float32"):
        with R.dataflow():
            a = R.nn.conv2d_transpose(x, R.ones((128, 32, 4, 4), "float32"), strides=2, padding=1, groups=4)
            R.output(a)
        return a
