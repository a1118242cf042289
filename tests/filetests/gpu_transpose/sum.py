# plans: gpu transpose
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 128), "float32"), z: R.Tensor((128, 64), "float32")):
        with R.dataflow():
            a = R.permute_dims(x)
            y = R.add(a, z)
            R.output(y)
        return y
