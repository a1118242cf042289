# opt: LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # A vector of the result would span several inputs: each is copied to its slice.
    @R.function
    def main(x0: R.Tensor((2, 3), "float32"), x1: R.Tensor((2, 3), "float32"), x2: R.Tensor((2, 3), "float32"), x3: R.Tensor((2, 3), "float32"), x4: R.Tensor((2, 3), "float32"), x5: R.Tensor((2, 3), "float32"), x6: R.Tensor((2, 3), "float32"), x7: R.Tensor((2, 3), "float32"), x8: R.Tensor((2, 3), "float32"), x9: R.Tensor((2, 3), "float32"), x10: R.Tensor((2, 3), "float32"), x11: R.Tensor((2, 3), "float32"), x12: R.Tensor((2, 3), "float32"), x13: R.Tensor((2, 3), "float32"), x14: R.Tensor((2, 3), "float32"), x15: R.Tensor((2, 3), "float32"), x16: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            y = R.concat((x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16), axis=1)
            R.output(y)
        return y
