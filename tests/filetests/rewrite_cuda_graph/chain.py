# opt: LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory,RewriteCUDAGraph
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Calls that depend only on planned memory and the weight are captured; the first and last kernel are not. The two
    # functions share storages.
    @R.function
    def large(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        a = R.exp(x)
        b = R.add(a, w)
        c = R.tanh(b)
        d = R.sqrt(c)
        return d

    @R.function
    def small(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        a = R.exp(x)
        b = R.negative(a)
        c = R.tanh(b)
        return c
