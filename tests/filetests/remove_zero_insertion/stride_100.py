# stages: remove-zero-insertion
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 16, 20), "float32"), w: R.Tensor((16, 1, 230), "float32")):
        with R.dataflow():
            y = R.nn.conv1d_transpose(x, w, strides=[100], padding=[65, 65])
            R.output(y)
        return y
