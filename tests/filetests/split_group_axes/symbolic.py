# stages: split-group-axes
# A dynamic batch and a dynamic width; a transposed convolution.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 16, "w"), "float32"), w: R.Tensor((32, 4, 3), "float32"), v: R.Tensor((16, 8, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv1d(x, w, groups=4)
            z = R.nn.conv1d_transpose(x, v, groups=4)
            out = (y, z)
            R.output(out)
        return out
