# opt: ConvTransposeToConv,FoldConstant
# Kernels are reversed along axes of several elements; the padding completes the window's reach.
@I.ir_module
class Module:
    @R.function
    def main(line: R.Tensor((1, 2, 5), "float32"), x: R.Tensor((1, 8, 9, 7), "float32"), volume: R.Tensor((1, 6, 5, 5, 8), "float32")):
        with R.dataflow():
            a = R.nn.conv1d_transpose(line, R.const([[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]], "float32"))
            b = R.nn.conv2d_transpose(x, R.ones((8, 4, 3, 1), "float32"), padding=(1, 0, 2, 0), dilation=(2, 1))
            c = R.nn.conv3d_transpose(volume, R.ones((2, 3, 3, 8, 4), "float32"), padding=1, data_layout="NDHWC", kernel_layout="DHWIO")
            out = (a, b, c)
            R.output(out)
        return out
