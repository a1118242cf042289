# plans: gpu thread_per_result
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 16, 33, 33), "float32")):
        with R.dataflow():
            y = R.nn.max_pool2d(x, pool_size=[3, 3], strides=[2, 2])
            R.output(y)
        return y
