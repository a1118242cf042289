# opt: ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # No allocations, or allocations that escape the function or the block.
    @R.function
    def none(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y = R.add(x, x)
        return y

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        cls = Module
        a = R.call_dps_packed("make", (x,), out_ty=R.Tensor((4,), dtype="float32"))
        b = R.call_dps_packed("make", (x,), out_ty=R.Tensor((4,), dtype="float32"))
        d = R.call_dps_packed("make", (x,), out_ty=R.Tensor((4,), dtype="float32"))
        e = cls.none(d)
        if c:
            r = R.add(b, b)
        else:
            r = b
        t = (a, e)
        return t
