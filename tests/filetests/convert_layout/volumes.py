# opt: ConvertLayout{desired_layouts={"relax.nn.conv3d":["NDHWC","DHWIO"]},cheaper=true}
n = TypeVar("n")
@I.ir_module
class Module:
    # Rows of 14 fill no vectors, and 32 channels do. What follows has its channels last, too.
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

    # Numbers of 16 bits are multiplied in words of neighbouring channels.
    @R.function
    def words(x: R.Tensor((n, 64, 5, 7, 16), "bfloat16")) -> R.Tensor((n, 16, 5, 7, 16), "bfloat16"):
        with R.dataflow():
            a = R.nn.conv3d(x, R.ones((16, 64, 3, 3, 3), "bfloat16"), padding=1)
            R.output(a)
        return a

    # Convolutions over planes are not asked for.
    @R.function
    def planes(x: R.Tensor((n, 64, 14, 14), "float32")) -> R.Tensor((n, 32, 14, 14), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((32, 64, 3, 3), "float32"), padding=1)
            R.output(a)
        return a
