# opt: tirx.StmtSimplify
# Arithmetic on elements and scalars may wrap: it is not simplified.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(k: T.int32, A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = A[i] * 2 // 2 + k * 4 // 4 + (i * 4) // 4
            if A[i] + 1 > A[i] and k + 1 > k:
                B[i] = 0
