# opt: tirx.VectorizeLoop
# Statements without a vector form are scalarized.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
        for j in T.serial(4):
            for i in T.vectorized(4):
                A[j * 16 + i * 2] = B[j * 4 + i] * A[i * 2] + T.float32(1)
        for i in T.vectorized(4):
            A[i] = T.Select(i > 1, T.exp(B[i]), T.Cast("float32", i))
            if i < n:
                A[i] = B[i]
            if n > 2:
                A[i] = B[3 - i]
            A[60] = B[i]
            A[61] = B[n]
            for k in T.serial(8):
                A[i * 8 + k] = B[k * 4 + i]
            A[i] = T.if_then_else(i > 0, B[i], T.float32(2))
            x = T.alloc_buffer((1,), "float32")
            x[0] = B[i]
            A[i] = x[0] * x[0]
