# plans: gpu thread_per_result
# Consecutive threads reduce consecutive columns.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 96), "float32")):
        with R.dataflow():
            y = R.sum(x, axis=[0])
            R.output(y)
        return y
