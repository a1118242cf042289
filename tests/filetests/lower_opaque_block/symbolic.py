# opt: s_tir.LowerInitBlock,s_tir.ConvertBlocksToOpaque,s_tir.LowerOpaqueBlock
# Two reduction axes of symbolic size, and an axis bound to a constant.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (1,), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("sum"):
                v = T.axis.spatial(1, 0)
                vi, vj = T.axis.remap("RR", [i, j])
                with T.init():
                    B[v] = T.float32(0)
                B[v] = B[v] + A[vi, vj]
