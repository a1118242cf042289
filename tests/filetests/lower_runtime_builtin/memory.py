# opt: ToNonDataflow,RemovePurityChecking,LegalizeOps,CallTIRRewrite,LowerAllocTensor,KillAfterLastUse,LowerRuntimeBuiltin
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), dtype="float32")):
        s = R.shape_of(x)
        a = R.exp(x)
        b = R.exp(a)
        return (b, s)
