from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def shift(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.sblock("shift"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi + 1, vj]
