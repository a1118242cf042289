# plans: gpu tensor_core_contraction
# Rows of both copies go along the reduction.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((256, 512), "int8"), w: R.Tensor((512, 256), "int8")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="int32")
            R.output(y)
        return y
