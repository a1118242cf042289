# opt: s_tir.CanonicalizeLoop
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(2, 64, 3):
            for j in range(i, 64):
                B[j] = A[i] + A[j]
            for j in T.vectorized(8, 16):
                A[j] = B[j]
