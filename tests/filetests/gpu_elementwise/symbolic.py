# plans: gpu elementwise
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 1024), "float16")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y
