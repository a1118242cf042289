# opt: s_tir.PlanAndUpdateBufferAllocationLocation
# The allocation is outside of the loops of an axis with loop-carried dependences, and of a reduction loop.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def opaque(A: T.Buffer((8, 8, 8), "int32"), B: T.Buffer((8, 8, 8), "int32")):
        C = T.sblock_alloc_buffer((8, 8, 8), "int32")
        for i in range(8):
            for j in range(8):
                for k in range(8):
                    with T.sblock("C"):
                        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                        C[vi, vj, vk] = A[vi, vj, vk] + 1
                for k in range(8):
                    with T.sblock("B"):
                        vi, vk = T.axis.remap("SS", [i, k])
                        vj = T.axis.opaque(8, j)
                        B[vi, vj, vk] = C[vi, vj, vk] + T.if_then_else(0 < vj, C[vi, vj - 1, vk], 0)

    @T.prim_func(s_tir=True)
    def reduce(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32")):
        total = T.sblock_alloc_buffer((64,))
        for k_0, i, k_1 in T.grid(8, 64, 8):
            with T.sblock("total"):
                vi = T.axis.spatial(64, i)
                vk = T.axis.reduce(64, k_0 * 8 + k_1)
                if vk == 0:
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + A[vi, vk]
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = total[vi]
