# opt: s_tir.HoistIfThenElse
# Conditions that read memory or may fail are not hoisted, nor are branches next to other statements.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "int32"), n: T.int32):
        for i in T.serial(n):
            for j in T.serial(n):
                if B[i] > 0:
                    A[i, j] = T.float32(1)
                    B[i] = B[i] - 1
        for j in T.serial(n):
            if 16 // n > 2:
                A[0, j] = T.float32(1)
        for i, j in T.grid(16, 16):
            if n < 3:
                A[i, j] = T.float32(1)
            A[i, j] = T.float32(2)
