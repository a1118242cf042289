# opt: AdjustMatmulOrder
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def merged(x: R.Tensor((n, 64), "float32"), a: R.Tensor((64, 2), "float32"), b: R.Tensor((2, 64), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            ab = R.matmul(a, b)
            y = R.matmul(x, ab)
            R.output(y)
        return y

    @R.function
    def apart(x: R.Tensor((n, 64), "float32"), a: R.Tensor((64, 2), "float32"), b: R.Tensor((2, 64), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            xa = R.matmul(x, a)
            y = R.matmul(xa, b)
            R.output(y)
        return y
