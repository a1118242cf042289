# stages: polyphase-layout
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8, 64, 64), "float32"), w: R.Tensor((8, 1, 5, 5), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, strides=[2, 2], padding=[2, 2, 2, 2], groups=8)
            R.output(y)
        return y
