# opt: s_tir.HoistIfThenElse
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 16), "float32"), n: T.int32):
        for i in T.parallel(16):
            for j in T.vectorized(16):
                if n == 3:
                    A[i, j] = T.float32(1)
        for i in T.serial(16):
            A[i, 0] = T.float32(3)
            for j in T.serial(16):
                if i < n:
                    A[i, j] = T.float32(1)
                else:
                    A[i, j] = T.float32(2)
        for i in T.serial(16):
            for j in T.serial(16):
                for k in T.serial(16):
                    if i < n:
                        if j < n:
                            A[i, j] = A[i, j] + T.float32(1)
