# plans: gpu online_softmax
# Two heads share keys, and lengths are dynamic.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((1, "n", 8, 128), "float32"), k: R.Tensor((1, "m", 4, 128), "float32"), v: R.Tensor((1, "m", 4, 128), "float32")):
        with R.dataflow():
            y = R.nn.attention(q, k, v, causal_mask="BottomRight")
            R.output(y)
        return y
