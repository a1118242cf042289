# plans: gpu transpose
# Loads are contiguous along the axis of the stores.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 16, 32), "float32")):
        with R.dataflow():
            y = R.permute_dims(x, axes=[1, 0, 2])
            R.output(y)
        return y
