# opt: s_tir.PlanAndUpdateBufferAllocationLocation
# A buffer that carries values between rows is not allocated per row; one that is local to a row is.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
        B = T.sblock_alloc_buffer((16, 8))
        D = T.sblock_alloc_buffer((8,))
        E = T.sblock_alloc_buffer((8,))
        for i in range(16):
            for j in range(8):
                with T.sblock("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj]
            for j in range(8):
                with T.sblock("D"):
                    vj = T.axis.spatial(8, j)
                    D[vj] = T.float32(i)
                    if i % 2 == 0:
                        E[vj] = T.float32(i)
            for j in range(8):
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj] + T.if_then_else(0 < vi, B[vi - 1, vj], T.float32(0)) + D[vj] + E[vj]
