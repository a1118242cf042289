# opt: s_tir.PlanAndUpdateBufferAllocationLocation
# Tiles with a partial last one, and a reduction: each tile has its own buffers.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def tiles(A: T.Buffer((50, 30), "float32"), C: T.Buffer((50, 30), "float32")):
        B = T.sblock_alloc_buffer((50, 30))
        unused = T.sblock_alloc_buffer((50, 30))
        for i_0 in T.parallel(7):
            for j_0 in range(8):
                for x, y in T.grid(8, 4):
                    with T.sblock("B"):
                        vi = T.axis.spatial(50, i_0 * 8 + x)
                        vj = T.axis.spatial(30, j_0 * 4 + y)
                        T.where(i_0 * 8 + x < 50 and j_0 * 4 + y < 30)
                        B[vi, vj] = A[vi, vj] * T.float32(2)
                for i_1, j_1 in T.grid(8, 4):
                    with T.sblock("C"):
                        vi = T.axis.spatial(50, i_0 * 8 + i_1)
                        vj = T.axis.spatial(30, j_0 * 4 + j_1)
                        T.where(i_0 * 8 + i_1 < 50 and j_0 * 4 + j_1 < 30)
                        C[vi, vj] = B[vi, vj] + T.float32(1)

    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((16, 64), "float32"), C: T.Buffer((16, 64), "float32")):
        total = T.sblock_alloc_buffer((16,))
        for i in range(16):
            for k in range(64):
                with T.sblock("total"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    if vk == 0:
                        total[vi] = T.float32(0)
                    total[vi] = total[vi] + A[vi, vk]
            for j in range(64):
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj] / total[vi]
