# opt: LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")
k = TypeVar("k")
@I.ir_module
class Module:
    # Without bounds, storages of equal size are reused; with bounds, storages have the maximum size.
    @R.function
    def equal(x: R.Tensor((n, 8), dtype="float32")) -> R.Tensor((n, 8), dtype="float32"):
        a = R.exp(x)
        b = R.negative(a)
        c = R.tanh(b)
        d = R.abs(c)
        return d

    @R.function
    def bounded(x: R.Tensor((m, k), dtype="float32")) -> R.Tensor((m, k), dtype="float32"):
        R.func_attr({"tir_var_upper_bound": {"m": 20}, "tir_non_negative_var": ["k"]})
        a = R.exp(x)
        b = R.concat((a, a), axis=0)
        c = R.negative(b)
        d = R.strided_slice(c, axes=[0], begin=[0], end=[m])
        return d

    @R.function
    def results(x: R.Tensor((n, 8), dtype="float32")) -> R.Tensor((n, 8), dtype="float32"):
        R.func_attr({"tir_var_upper_bound": {"n": 20}, "tir_var_lower_bound": {"n": 2}, "relax.memory_plan_dynamic_func_output": True})
        a = R.exp(x)
        b = R.negative(a)
        return b
