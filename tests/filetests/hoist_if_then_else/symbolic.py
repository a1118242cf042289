# opt: s_tir.HoistIfThenElse
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n, m), "float32")
        for i in T.serial(n):
            for j in T.serial(m):
                if i * 2 < n:
                    A[i, j] = T.float32(1)
