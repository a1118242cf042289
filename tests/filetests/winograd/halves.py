# opt: Winograd{cheaper=true}
# 16-bit floats are upcast before, and results rounded after.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 56, 56, 64), "float16"), y: R.Tensor((1, 64, 56, 56), "bfloat16")):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((3, 3, 64, 32), "float16"), padding=1, data_layout="NHWC", kernel_layout="HWIO", out_layout="NCHW")
            b = R.nn.conv2d(y, R.ones((32, 64, 3, 3), "bfloat16"), padding=1, out_dtype="float32")
            out = (a, b)
            R.output(out)
        return out
