# opt: tirx.StmtSimplify
# Sizes are nonnegative; block axes are within their ranges.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (n * 4,), "float32")
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("flat"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(i < n)
                if n + vj >= T.int64(0):
                    B[vi * 4 + vj] = A[(vi * 4 + vj) // 4, (vi * 4 + vj) % 4]
