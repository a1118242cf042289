# opt: LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory{scope="function"},RewriteCUDAGraph
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Graphs do not extend across a branch; values used in a branch are results of the graph before it.
    @R.function
    def main(w: R.Tensor((4, 8), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"num_input": 0})
        a = R.exp(w)
        b = R.negative(a)
        if c:
            p = R.tanh(b)
            q = R.sqrt(p)
            r = R.abs(q)
        else:
            r = R.log(b)
        d = R.exp(r)
        e = R.negative(d)
        f = R.tanh(e)
        return f
