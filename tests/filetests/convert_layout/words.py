# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","HWIO"]},cheaper=true}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Several channels are multiplied at once: the data is moved for the first. The second has too few channels, and no
    # window moves over the third, whose rows fill vectors: they stay.
    @R.function
    def main(x: R.Tensor((1, 64, 28, 28), "uint8"), w: R.Tensor((64, 64, 3, 3), "int8")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=(1, 1), out_dtype="int32")
            R.output(y)
        return y

    @R.function
    def few(x: R.Tensor((1, 3, 32, 32), "uint8"), w: R.Tensor((64, 3, 3, 3), "int8")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=(1, 1), out_dtype="int32")
            R.output(y)
        return y

    @R.function
    def places(x: R.Tensor((1, 64, 32, 32), "uint8"), w: R.Tensor((64, 64, 1, 1), "int8")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, out_dtype="int32")
            R.output(y)
        return y
