# opt: s_tir.ConvertBlocksToOpaque
# A nested block: its axis is bound to the outer one; so is a buffer extent.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i in range(8):
            with T.sblock("outer"):
                vi = T.axis.spatial(8, i)
                W = T.sblock_alloc_buffer((vi + 1,), "float32")
                for j in range(4):
                    with T.sblock("inner"):
                        vk = T.axis.spatial(8, vi)
                        vj = T.axis.spatial(4, j)
                        W[vk] = A[vk, vj]
                        B[vk, vj] = W[vk]
