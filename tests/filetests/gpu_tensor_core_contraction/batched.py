# plans: gpu tensor_core_contraction
# Batched, with sums of float32 as results; 100 columns are copied in vectors of 8 bytes.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 100, 64), "float16"), w: R.Tensor((8, 64, 100), "float16")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="float32")
            R.output(y)
        return y
