# stages: pad-leading-dim
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, "h", 32, 512), "float32"), w: R.Tensor((3, 3, 512, 64), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="HWIO")
            R.output(y)
        return y
