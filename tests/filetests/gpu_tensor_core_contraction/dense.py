# plans: gpu tensor_core_contraction
# A dense layer in float16: the epilogue runs in registers.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1024, 768), "float16"), w: R.Tensor((768, 1000), "float16"), b: R.Tensor((1000,), "float16")):
        with R.dataflow():
            a = R.matmul(x, w)
            c = R.add(a, b)
            y = R.nn.relu(c)
            R.output(y)
        return y
