# plans: gpu thread_per_result
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 96), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y
