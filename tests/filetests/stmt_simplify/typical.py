# opt: tirx.StmtSimplify
# Loops bound indices; conditions that always or never hold are removed.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((128,), "float32")):
        for i, j in T.grid(8, 16):
            if i * 16 + j < 128:
                B[i * 16 + j] = A[(i * 16 + j) // 16, (i * 16 + j) % 16]
            else:
                B[0] = T.float32(0)
        for i in range(8):
            if i > 3:
                B[i] = T.if_then_else(i > 2, A[0, i], T.float32(1))
            B[i] = T.Select(i < 0, T.float32(2), B[i])
