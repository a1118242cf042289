# stages: split-group-axes
# With channels innermost and with rows innermost.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 32, 8, 64), "float32"), w: R.Tensor((64, 8, 3, 3), "float32"), b: R.Tensor((64, 1, 1), "float32"), y: R.Tensor((1, 8, 64, 32), "float32"), v: R.Tensor((3, 3, 8, 64), "float32")):
        with R.dataflow():
            rows = R.nn.relu(R.add(R.nn.conv2d(x, w, groups=4), b))
            channels = R.nn.conv2d(y, v, groups=4, data_layout="NHWC", kernel_layout="HWIO")
            out = (rows, channels)
            R.output(out)
        return out
