# Matmuls and convolutions of narrow dtypes.
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((64, 98), "uint8"),
        w: R.Tensor((98, 200), "int8"),
        a: R.Tensor((24, 64), "bfloat16"),
        b: R.Tensor((64, 200), "bfloat16"),
        image: R.Tensor((1, 30, 30, 16), "int8"),
        taps: R.Tensor((3, 3, 16, 40), "int8"),
        maps: R.Tensor((1, 64, 14, 14), "bfloat16"),
        places: R.Tensor((48, 64, 1, 1), "bfloat16"),
        queries: R.Tensor((2, "s", 32), "uint8"),
        keys: R.Tensor((2, 32, "s"), "uint8"),
    ):
        with R.dataflow():
            bytes = R.matmul(x, w, out_dtype="int32")
            bfloats = R.matmul(a, b, out_dtype="float32")
            window = R.nn.conv2d(image, taps, data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32")
            place = R.nn.conv2d(maps, places)
            heads = R.matmul(queries, keys, out_dtype="int32")
            R.output(bytes, bfloats, window, place, heads)
        return (bytes, bfloats, window, place, heads)
