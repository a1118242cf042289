# plans: gpu transpose
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4, 64), "float32")):
        with R.dataflow():
            a = R.permute_dims(x, axes=[1, 2, 0])
            y = R.nn.relu(a)
            R.output(y)
        return y
