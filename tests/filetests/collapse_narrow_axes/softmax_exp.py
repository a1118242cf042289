# stages: collapse-narrow-axes
# A load that depends on the narrow axis alone repeats.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((40, 3), "float32"), m: R.Tensor((3,), "float32")):
        with R.dataflow():
            y = R.exp(R.subtract(x, m))
            R.output(y)
        return y
