# opt: s_tir.LowerMatchBuffer
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 8), "float32")):
        for i in range(4):
            with T.sblock("rows"):
                T.reads()
                T.writes(A[i * 2:i * 2 + 2, 0:8])
                a = T.match_buffer(A[i * 2:i * 2 + 2, 0:8], (2, 8), strides=[16, 1], offset_factor=1)
                a[0, 0] = T.float32(0)
