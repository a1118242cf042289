# plans: dot-product
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 96), "uint8"), w: R.Tensor((96, 48), "int8")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="int32")
            R.output(y)
        return y
