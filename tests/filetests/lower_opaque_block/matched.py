# opt: s_tir.ConvertBlocksToOpaque,s_tir.LowerOpaqueBlock
# Matched regions are not statements.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i in range(8):
            with T.sblock("row"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi, 0:4])
                T.writes(B[vi, 0:4])
                a = T.match_buffer(A[vi, 0:4], (4,), "float32", elem_offset=T.int32(), strides=[1], offset_factor=1)
                for j in range(4):
                    B[vi, j] = a[j]
