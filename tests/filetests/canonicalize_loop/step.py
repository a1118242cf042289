# opt: s_tir.CanonicalizeLoop
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in range(0, 64, n):
            A[i] = T.float32(1)
