# opt: tirx.UnrollLoop
# Nested annotated loops; their declarations are copied.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.float32(0)
            for j in T.unroll(2):
                twice: T.let[T.float32] = A[i, j] * T.float32(2)
                for k in T.unroll(1, 3):
                    B[i] = B[i] + twice + A[i, k]
