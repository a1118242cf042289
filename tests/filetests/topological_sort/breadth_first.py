# opt: TopologicalSort{order="breadth-first"}
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((n,), "float32")):
        with R.dataflow():
            b1 = R.exp(a)
            c1 = R.add(a, b1)
            b2 = R.negative(a)
            d = R.add(c1, b2)
            R.output(d)
        return d
