# opt: s_tir.CompactBufferAllocation{is_strict=false}
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, c: T.handle, n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n, m), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        for i in range(n):
            with T.sblock(""):
                B = T.sblock_alloc_buffer((n, m))
                for j in range(m):
                    with T.sblock("B"):
                        B[i, j] = A[i, j] * T.float32(2)
                for j in range(m):
                    with T.sblock("C"):
                        C[i, j] = B[i, m - T.int64(1) - j] + T.float32(1)
