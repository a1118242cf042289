n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 3), "float32"), y: R.Tensor((n, 3), "float32")):
        with R.dataflow():
            twice = R.multiply(x, R.const(2, "float32"))
            first = R.add(y, twice)
            again = R.multiply(first, R.const(2, "float32"))
            second = R.add(x, again)
            result = R.exp(R.negative(second))
            R.output(result)
        return result
