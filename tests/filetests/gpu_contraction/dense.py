# plans: gpu contraction
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1024, 768), "float32"), w: R.Tensor((768, 1000), "float32"), b: R.Tensor((1000,), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            c = R.add(a, b)
            y = R.nn.relu(c)
            R.output(y)
        return y
