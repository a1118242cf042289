# stages: fuse
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 32), "float32"), w: R.Tensor((32, 48), "float32"), b: R.Tensor((48,), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            c = R.add(a, b)
            y = R.nn.relu(c)
            R.output(y)
        return y
