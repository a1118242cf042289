# stages: gpu split-reductions
# A short result, and a long sum.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 65536), "float16"), w: R.Tensor((65536, 64), "float16")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="float32")
            R.output(y)
        return y
