# opt: CanonicalizeBindings
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n,), "float32")):
        with R.dataflow():
            one = R.const(1.0, "float32")
            y = R.add(x, one)
            pair = (y, x)
            again = (pair[0], pair[1])
            first = again[0]
            alone = R.negative(first)
            out = alone
            also = alone
            R.output(pair, alone, out, also)
        with R.dataflow():
            z = R.add(out, also)
            R.output(z)
        return z
