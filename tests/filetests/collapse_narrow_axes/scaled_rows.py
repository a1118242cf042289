# stages: collapse-narrow-axes
# A load that depends on the row alone is broadcast; the number of rows may be dynamic.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 5), "float32"), s: R.Tensor(("n", 1), "float32")):
        with R.dataflow():
            y = R.multiply(x, s)
            R.output(y)
        return y
