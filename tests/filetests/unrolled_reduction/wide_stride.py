# plans: unrolled-reduction
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16, 32, 5), "float32")):
        with R.dataflow():
            a = R.strided_slice(x, axes=[2], begin=[0], end=[1])
            y = R.sum(a, axis=[1, 2])
            R.output(y)
        return y
