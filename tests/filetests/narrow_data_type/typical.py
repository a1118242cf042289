# opt: tirx.NarrowDataType
# Indices that fit become int32; a variable stays wide if a value computed from it does not fit.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(64), T.int64(32)), "float32"), B: T.Buffer((T.int64(64), T.int64(32)), "float32"), C: T.Buffer((T.int64(64),), "int64")):
        for i, j in T.grid(T.int64(64), T.int64(32)):
            if i * T.int64(32) + j < T.int64(2000):
                B[i, j] = T.if_then_else(T.int64(1) <= i and i < T.int64(63), A[i - T.int64(1), j], T.float32(0)) * T.Cast("float32", i + T.int64(1))
        for k in range(T.int64(64)):
            C[k] = k * T.int64(1000000000)
        for k in T.vectorized(T.int64(64)):
            C[k] = C[k] + k
