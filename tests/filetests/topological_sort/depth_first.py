# opt: TopologicalSort
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((n,), "float32")):
        with R.dataflow():
            b1 = R.exp(a)
            b2 = R.negative(a)
            c2 = R.add(a, b2)
            c1 = R.add(a, b1)
            d = R.add(c1, c2)
            R.output(d)
        return d
