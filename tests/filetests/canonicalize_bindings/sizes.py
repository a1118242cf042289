# opt: CanonicalizeBindings
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), "float32"), s: R.Shape(ndim=1), c: R.Tensor((), "bool")):
        k = T.int64()
        m = T.int64()
        r = T.int64()
        y = R.match_cast(x, R.Tensor((m, 4), "float32"))
        z: R.Tensor(ndim=2, dtype="float32") = R.add(x, y)
        kept = R.match_cast(s, R.Shape([r]))
        w = R.zeros(R.shape([m + r]), "float32")
        if c:
            a = R.match_cast(x, R.Tensor((k, 4), "float32"))
            v = R.sum(a)
        else:
            b = R.match_cast(z, R.Tensor((k, 4), "float32"))
            v = R.sum(b)
        return (z, w, v)
