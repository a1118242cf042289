# opt: AdjustMatmulOrder
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def small(x: R.Tensor((n, 64), "float32"), a: R.Tensor((64, 64), "float32"), b: R.Tensor((64, 64), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            xa = R.matmul(x, a)
            y = R.matmul(xa, b)
            R.output(y)
        return y

    @R.function
    def large(x: R.Tensor((8, 4096), "float32"), a: R.Tensor((4096, 4096), "float32"), b: R.Tensor((4096, 4096), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            ab = R.matmul(a, b)
            y = R.matmul(x, ab)
            R.output(y)
        return y
