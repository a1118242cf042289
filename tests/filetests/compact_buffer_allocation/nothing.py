# opt: s_tir.CompactBufferAllocation
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        with T.sblock(""):
            B = T.sblock_alloc_buffer((16,))
            for i in range(16):
                B[i] = A[i]
            for i in range(16):
                C[i] = B[15 - i]
