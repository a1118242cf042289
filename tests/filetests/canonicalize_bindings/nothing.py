# opt: CanonicalizeBindings
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n,), "float32"), y: R.Tensor(ndim=1, dtype="float32")):
        m = T.int64()
        z = R.match_cast(y, R.Tensor((m,), "float32"))
        w = R.match_cast(x, R.Tensor((4,), "float32"))
        v: R.Tensor(ndim=1, dtype="float32") = R.add(w, w)
        return (z, v)
