# opt: LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Two storages for a chain; the result has memory of its own, and int8 does not share with float32.
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((8, 4), dtype="float32"):
        a = R.exp(x)
        b = R.negative(a)
        c = R.tanh(b)
        v = R.reshape(c, R.shape([8, 4]))
        d = R.sqrt(v)
        e = R.astype(d, dtype="int8")
        f = R.astype(e, dtype="float32")
        g = R.abs(f)
        return g
