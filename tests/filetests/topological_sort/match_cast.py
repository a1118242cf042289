# opt: TopologicalSort
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")):
        with R.dataflow():
            z = R.zeros((3,), "float32")
            c = R.match_cast(b, R.Tensor((n,), "float32"))
            d = R.zeros((n,), "float32")
            e = R.add(c, d)
            f = R.add(a, R.const(1.0, "float32"))
            R.output(e)
        return e
