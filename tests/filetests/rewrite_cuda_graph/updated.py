# opt: LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory{scope="function"},RewriteCUDAGraph{updated=true}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # All calls are in one graph, whatever the sizes and addresses are; allocations come before it.
    @R.function
    def main(x: R.Tensor(("n", 8), dtype="float32"), w: R.Tensor((8,), dtype="float32")) -> R.Tensor(("n", 8), dtype="float32"):
        a = R.exp(x)
        b = R.add(a, w)
        c = R.tanh(b)
        return c

    # Two graphs: the function between them is not a kernel.
    @R.function
    def packed(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        a = R.exp(x)
        b = R.negative(a)
        c = R.call_dps_packed("mix", (b,), out_ty=R.Tensor((4,), dtype="float32"))
        d = R.exp(c)
        e = R.negative(d)
        return e

    # A single call gains nothing.
    @R.function
    def single(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        a = R.exp(x)
        return a
