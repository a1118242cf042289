# stages: collapse-narrow-axes
# Positions are used outside of loads.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((40000, 2), "float32"):
        with R.dataflow():
            y = R.eye(40000, 2, dtype="float32")
            R.output(y)
        return y
