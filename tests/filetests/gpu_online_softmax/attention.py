# plans: gpu online_softmax
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((1, 512, 8, 64), "float16"), k: R.Tensor((1, 512, 8, 64), "float16"), v: R.Tensor((1, 512, 8, 64), "float16")):
        with R.dataflow():
            y = R.nn.attention(q, k, v)
            R.output(y)
        return y
