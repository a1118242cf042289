# opt: ToNonDataflow,RemovePurityChecking,LegalizeOps,CallTIRRewrite,LowerAllocTensor,KillAfterLastUse
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    # A value whose last use is in a branch is released after the if.
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((4,), dtype="float32"):
        a = R.exp(x)
        b = R.negative(a)
        if c:
            r = R.add(a, b)
        else:
            r = R.tanh(b)
        d = R.exp(r)
        return d
