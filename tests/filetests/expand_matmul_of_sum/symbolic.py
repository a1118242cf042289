# opt: ExpandMatmulOfSum
n = TypeVar("n")
m = TypeVar("m")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8), "float32"), a: R.Tensor((8, m), "float32"), b: R.Tensor((8, m), "float32")):
        with R.dataflow():
            w = R.add(a, b)
            y = R.matmul(x, w)
            R.output(y)
        return y
