# opt: LegalizeOps,FuseRows
# A cast binds the sizes of later values: these cannot be fused with earlier ones.
# from tvm.script import ir as I
# from tvm.script import relax as R
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            a = R.exp(x)
            s = R.sum(a, axis=[1])
            t = R.match_cast(s, R.Tensor((n,), "float32"))
            o = R.ones(R.shape([n, 8]), dtype="float32")
            b = R.add(a, o)
            c = R.match_cast(b, R.Tensor((4, 8), "float32"))
            R.output(c)
        return c
