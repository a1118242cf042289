# opt: s_tir.CompactBufferAllocation
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i in range(16):
            with T.sblock(""):
                B = T.sblock_alloc_buffer((16, 16))
                for j in range(16):
                    with T.sblock(""):
                        T.reads(A[i, j])
                        T.writes(B[i, j])
                        T.sblock_attr({"buffer_dim_align": [[0, 0, 16, 15]]})
                        B[i, j] = A[i, j] + T.float32(1)
                for j in range(16):
                    with T.sblock(""):
                        C[i, j] = B[i, j] * T.float32(2)
