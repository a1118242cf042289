# opt: s_tir.RewriteUnsafeSelect
# An operand with a load is evaluated lazily; a nested select is guarded separately.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            B[i] = T.Select(i < 32, A[i + 1], T.float32(0))
        for i in range(64):
            B[i] = T.Select(i < 32, T.Select(i < 16, A[i + 1], T.exp(B[i])), T.Cast("float32", i))
