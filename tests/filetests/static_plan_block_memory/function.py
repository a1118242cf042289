# opt: LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory{scope="function"},LowerAllocTensor,KillAfterLastUse
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    # Branches share memory with each other and with the enclosing code, for all dtypes; the result of a branch is live
    # as long as the result of the if.
    @R.function
    def branches(x: R.Tensor((4, 8), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((4, 8), dtype="float32"):
        a = R.exp(x)
        b = R.negative(a)
        if c:
            p = R.tanh(b)
            q = R.astype(p, dtype="float16")
            s = R.astype(q, dtype="float32")
            r = R.sqrt(s)
        else:
            t = R.abs(b)
            r = R.log(t)
        d = R.exp(r)
        e = R.negative(d)
        return e

    # A storage of symbolic size is reused for a tensor that is provably not larger.
    @R.function
    def symbolic(x: R.Tensor((n, 8), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        a = R.exp(x)
        b = R.negative(a)
        c = R.strided_slice(b, axes=[1], begin=[0], end=[4])
        d = R.sqrt(c)
        return d
