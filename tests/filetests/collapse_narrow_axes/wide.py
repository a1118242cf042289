# stages: collapse-narrow-axes
# Rows that fill a vector stay as they are, and so does a triangle of loads, whose condition is on positions.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((40, 16), "float32"), m: R.Tensor((16,), "float32"), z: R.Tensor((6, 4), "float32")):
        with R.dataflow():
            y = R.subtract(x, m)
            t = R.tril(z)
            R.output(y, t)
        return y, t
