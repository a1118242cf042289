# Kernels for tests in ../, over blocks of four.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Kernels:
    @T.prim_func(s_tir=True)
    def add(a: T.Buffer((4, 4), "float32"), b: T.Buffer((4, 4), "float32"), c: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] + b[vi, vj]

    @T.prim_func(private=True, s_tir=True)
    def relu(a: T.handle, c: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m, 4), "float32")
        C = T.match_buffer(c, (m, 4), "float32")
        for i, j in T.grid(m, 4):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(A[vi, vj], T.float32(0))
