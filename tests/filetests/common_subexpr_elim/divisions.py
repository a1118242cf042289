# opt: tirx.CommonSubexprElim
# A division by a value that may be zero does not leave the branch that guards it.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), "int32"), n: T.int32):
        if n != 0:
            A[0] = 16 // n
        if n > 2:
            A[1] = 16 // n
        for i in range(4):
            A[i + 4] = T.if_then_else(n > 0, i % n, 0) + T.if_then_else(n > 1, i % n, 1)
        for i in range(4):
            if n > 3:
                A[i + 8] = i // n
                A[i + 12] = i // n + i % 3 + i % 3
