# opt: s_tir.CompactBufferAllocation
# Indices loaded from memory, pointers, and aliasing buffers.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32"), P: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
        for i in range(4):
            with T.sblock(""):
                B = T.sblock_alloc_buffer((16,))
                D = T.sblock_alloc_buffer((16,))
                for j in range(4):
                    with T.sblock(""):
                        B[P[i * 4 + j]] = A[i * 4 + j]
                        C[i * 4 + j] = B[P[i * 4 + j]]
                E = T.decl_buffer((4, 4), data=D.data)
                for j in range(4):
                    with T.sblock(""):
                        D[i * 4 + j] = A[i * 4 + j]
                        C[i * 4 + j] = C[i * 4 + j] + E[i, j]
