# opt: tirx.UnrollLoop
# Blocks in loops are copied with their own axes; a loop with `break` is not unrolled.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.unroll(2):
            for j in T.vectorized(2):
                with T.sblock("copy"):
                    vi = T.axis.spatial(4, i * 2 + j)
                    B[vi] = A[vi]

    @T.prim_func
    def until(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.unroll(4):
            if A[i] < T.float32(0):
                break
            B[i] = T.float32(1)
