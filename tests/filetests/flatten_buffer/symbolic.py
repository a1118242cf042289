# opt: tirx.FlattenBuffer
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, c: T.handle, n: T.int64, m: T.int64, off: T.int32):
        A = T.match_buffer(a, (n, m), "float32")
        C = T.match_buffer(c, (4, 4), "float32", elem_offset=off)
        for i, j in T.grid(n, m):
            C[i % T.int64(4), j % T.int64(4)] = A[i, j] + T.float32(1)
