# plans: gpu tensor_core_contraction
# A transposed weight and a dynamic number of rows.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "bfloat16"), w: R.Tensor((128, 64), "bfloat16")):
        with R.dataflow():
            wt = R.permute_dims(w)
            y = R.matmul(x, wt)
            R.output(y)
        return y
