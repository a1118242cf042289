# stages: fuse
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 32), "float32")):
        with R.dataflow():
            a = R.multiply(x, R.const(2, "float32"))
            y = R.sum(a, axis=[1])
            R.output(y)
        return y
