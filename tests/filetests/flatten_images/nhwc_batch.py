# stages: gpu flatten-images
# Several images are in one tile.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 9, 9, 64), "float16"), w: R.Tensor((3, 3, 64, 64), "float16")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO")
            R.output(y)
        return y
