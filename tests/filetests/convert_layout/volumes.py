# opt: ConvertLayout{desired_layouts={"relax.nn.conv3d":["NDHWC","DHWIO"]},cheaper=true}
n = TypeVar("n")
@I.ir_module
class Module:
    # Rows of 14 do not fill vectors, 32 channels do. Consumers have channels last, too.
    @R.function
    def yes(x: R.Tensor((n, 64, 6, 14, 14), "float32")) -> R.Tensor((n, 32, 3, 7, 7), "float32"):
        with R.dataflow():
            a = R.nn.conv3d(x, R.ones((32, 64, 3, 3, 3), "float32"), padding=1)
            b = R.nn.relu(a)
            c = R.nn.max_pool3d(b, pool_size=2, strides=2)
            R.output(c)
        return c

    @R.function
    def rows_fill_vectors(x: R.Tensor((n, 64, 5, 7, 16), "float32")) -> R.Tensor((n, 16, 5, 7, 16), "float32"):
        with R.dataflow():
            a = R.nn.conv3d(x, R.ones((16, 64, 3, 3, 3), "float32"), padding=1)
            R.output(a)
        return a

    # 16-bit elements are multiplied in packed groups of adjacent channels.
    @R.function
    def words(x: R.Tensor((n, 64, 5, 7, 16), "bfloat16")) -> R.Tensor((n, 16, 5, 7, 16), "bfloat16"):
        with R.dataflow():
            a = R.nn.conv3d(x, R.ones((16, 64, 3, 3, 3), "bfloat16"), padding=1)
            R.output(a)
        return a

    # 2D convolutions are not requested.
    @R.function
    def planes(x: R.Tensor((n, 64, 14, 14), "float32")) -> R.Tensor((n, 32, 14, 14), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((32, 64, 3, 3), "float32"), padding=1)
            R.output(a)
        return a
