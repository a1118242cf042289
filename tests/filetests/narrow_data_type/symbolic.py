# opt: tirx.NarrowDataType
# Indices bounded by a size stay as wide as the size.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle, n: T.int64):
        A = T.match_buffer(a, (n, T.int64(4)), "float32")
        B = T.match_buffer(b, (n, T.int64(4)), "float32")
        for i, j in T.grid(n, T.int64(4)):
            B[i, j] = A[i, j] + T.float32(1)
        for j in range(T.int64(4)):
            B[0, j] = A[n - T.int64(1), j]
