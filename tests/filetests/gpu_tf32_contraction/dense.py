# plans: gpu tf32 tensor_core_contraction
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1024, 768), "float32"), w: R.Tensor((768, 1024), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
