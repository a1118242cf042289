# opt: s_tir.LowerInitBlock,s_tir.ConvertBlocksToOpaque,s_tir.LowerOpaqueBlock
# A reduction block with a predicate, after a spatial block.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
        C = T.sblock_alloc_buffer((8, 16), "float32")
        for i, j in T.grid(8, 16):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j0, j1 in T.grid(8, 4, 4):
            with T.sblock("sum"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.reduce(16, j0 * 4 + j1)
                T.where(i * 16 + j0 * 4 + j1 < 128)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + C[vi, vj]
