# opt: s_tir.RewriteUnsafeSelect
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), s: T.float32):
        for i in range(64):
            A[i] = T.Select(i < 32, T.exp(s), T.Cast("float32", i % 7))
