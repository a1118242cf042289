# opt: AdjustMatmulOrder
n = TypeVar("n")
r = TypeVar("r")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 64), "float32"), a: R.Tensor((64, r), "float32"), b: R.Tensor((r, 64), "float32")):
        R.func_attr({"tir_var_upper_bound": {"n": 16, "r": 16}})
        with R.dataflow():
            ab = R.matmul(a, b)
            y = R.matmul(x, ab)
            R.output(y)
        return y
