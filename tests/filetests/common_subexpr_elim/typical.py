# opt: tirx.CommonSubexprElim
# Values used in both branches are bound before the branch; those used in one loop, inside it. Loads are not merged.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), x: T.int32, y: T.int32, s: T.float32):
        for i in range(4):
            for j in range(4):
                A[i * 16 + j * 4 + 1] = B[i * 16 + j * 4 + 1] + B[i * 16 + j * 4] * (s * s + s)
            B[i * 16] = A[i * 16] + (s * s + s)
        if x < y:
            B[0] = T.Cast("float32", (x + y) * (x + y)) + B[1] * B[1]
        else:
            B[1] = T.Cast("float32", x + y)
            B[2] = B[1] * B[1]
