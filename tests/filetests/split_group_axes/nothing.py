# stages: split-group-axes
# One group, a depthwise convolution, few channels in a group.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 16, 8, 8), "float32"), one: R.Tensor((32, 16, 3, 3), "float32"), each: R.Tensor((16, 1, 3, 3), "float32"), few: R.Tensor((16, 2, 3, 3), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, one)
            b = R.nn.conv2d(x, each, groups=16)
            c = R.nn.conv2d(x, few, groups=8)
            out = (a, b, c)
            R.output(out)
        return out
