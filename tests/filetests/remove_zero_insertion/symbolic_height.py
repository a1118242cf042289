# stages: remove-zero-insertion
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, "h", 8), "float32"), w: R.Tensor((4, 6, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d_transpose(x, w, strides=[2, 2])
            R.output(y)
        return y
