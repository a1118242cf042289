# opt: s_tir.LowerMatchBuffer
# A nested region, and one of lower rank.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def nested(A: T.Buffer((4, 64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
        for n, i in T.grid(4, 4):
            with T.sblock("rows"):
                T.reads(A[n, i * 16:i * 16 + 16, 0:64])
                T.writes(B[i * 16:i * 16 + 16, 0:64])
                a = T.match_buffer(A[n, i * 16:i * 16 + 16, 0:64], (16, 64), offset_factor=1)
                b = T.match_buffer(B[i * 16:i * 16 + 16, 0:64], (16, 64), offset_factor=1)
                for j in range(4):
                    with T.sblock("tile"):
                        T.reads(a[0:16, j * 16:j * 16 + 16])
                        T.writes(b[0:16, j * 16:j * 16 + 16])
                        c = T.match_buffer(b[0:16, j * 16:j * 16 + 16], (16, 16), offset_factor=1)
                        for y, x in T.grid(16, 16):
                            c[y, x] = a[y, j * 16 + x] + T.float32(1)
