# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","HWIO"]},cheaper=true}
n = TypeVar("n")
@I.ir_module
class Module:
    # Rows of 14 do not fill vectors, 32 channels do.
    @R.function
    def yes(x: R.Tensor((n, 64, 14, 14), "float32")) -> R.Tensor((n, 32, 14, 14), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((32, 64, 3, 3), "float32"), padding=1)
            b = R.nn.relu(a)
            R.output(b)
        return b

    @R.function
    def rows_fill_vectors(x: R.Tensor((n, 64, 7, 16), "float32")) -> R.Tensor((n, 16, 7, 16), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((16, 64, 3, 3), "float32"), padding=1)
            R.output(a)
        return a

    # With stride 2, accesses along a row are strided; along channels they are contiguous.
    @R.function
    def windows_move(x: R.Tensor((n, 64, 32, 32), "float32")) -> R.Tensor((n, 24, 16, 16), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((24, 64, 3, 3), "float32"), padding=1, strides=2)
            R.output(a)
        return a

    # Depthwise: each channel reads its own data, so there is no additional reuse.
    @R.function
    def of_one_channel(x: R.Tensor((n, 16, 32, 32), "float32")) -> R.Tensor((n, 16, 16, 16), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((16, 1, 3, 3), "float32"), padding=1, strides=2, groups=16)
            R.output(a)
        return a

    @R.function
    def channels_do_not(x: R.Tensor((n, 64, 7, 7), "float32")) -> R.Tensor((n, 3, 7, 7), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((3, 64, 3, 3), "float32"), padding=1)
            R.output(a)
        return a

    # The permutes would take longer than these few multiplications.
    @R.function
    def too_little(x: R.Tensor((n, 16, 7, 7), "float32")) -> R.Tensor((n, 16, 7, 7), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((16, 1, 3, 3), "float32"), padding=1, groups=16)
            R.output(a)
        return a

    # Its weight would have to be read with a stride.
    @R.function
    def kernel(x: R.Tensor((n, 14, 14, 64), "float32"), w: R.Tensor((16, 3, 3, 64), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="OHWI")
            R.output(a)
        return a

    # The last convolution's data is also used in its original layout.
    @R.function
    def twice(x: R.Tensor((n, 16, 14, 14), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((32, 16, 3, 3), "float32"), padding=1)
            b = R.nn.conv2d(x, R.ones((32, 16, 1, 1), "float32"))
            c = R.add(a, b)
            R.output(c)
        return c

    # The channels of each group fill vectors.
    @R.function
    def groups(x: R.Tensor((n, 128, 14, 14), "float32")) -> R.Tensor((n, 128, 14, 14), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((128, 32, 3, 3), "float32"), padding=1, groups=4)
            R.output(a)
        return a

    # Those of small groups do not, and adjacent channels of several groups read different data.
    @R.function
    def small_groups(x: R.Tensor((n, 128, 14, 14), "float32")) -> R.Tensor((n, 128, 14, 14), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((128, 8, 3, 3), "float32"), padding=1, groups=16)
            R.output(a)
        return a

    # Pointwise: all positions are collapsed to one row.
    @R.function
    def of_one_place(x: R.Tensor((1, 64, 14, 14), "float32")) -> R.Tensor((1, 32, 14, 14), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((32, 64, 1, 1), "float32"))
            R.output(a)
        return a

    @R.function
    def of_one_place_in_steps(x: R.Tensor((1, 64, 14, 14), "float32")) -> R.Tensor((1, 32, 7, 7), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((32, 64, 1, 1), "float32"), strides=2)
            R.output(a)
        return a
