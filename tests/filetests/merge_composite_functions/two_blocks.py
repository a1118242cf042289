# opt: FuseOpsByPattern{patterns=[["x.a", "R.tanh(_)"], ["x.b", "R.exp(_)"]]},MergeCompositeFunctions
# Regions do not span blocks; a cast to known sizes does not split a region.
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n,), "float32")):
        with R.dataflow():
            a = R.tanh(x)
            b = R.exp(a)
            c = R.match_cast(b, R.Tensor((n,), "float32"))
            d = R.exp(a)
            R.output(a, c, d)
        with R.dataflow():
            e = R.tanh(d)
            f = R.exp(e)
            R.output(f)
        return (a, c, f)
