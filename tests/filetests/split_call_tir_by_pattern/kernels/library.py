# Patterns for tests in ../: what the functions of a library compute.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Library:
    @T.prim_func(s_tir=True)
    def lib_matmul(a: T.handle, b: T.handle, c: T.handle):
        n, k, m = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (n, k), "float32")
        B = T.match_buffer(b, (k, m), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        for i, j, l in T.grid(n, m, k):
            with T.sblock("matmul"):
                vi, vj, vl = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vl] * B[vl, vj]

    @T.prim_func(s_tir=True)
    def lib_matmul_scaled(a: T.handle, b: T.handle, c: T.handle, alpha: T.float32, beta: T.float32):
        n, k, m = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (n, k), "float32")
        B = T.match_buffer(b, (k, m), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        P = T.sblock_alloc_buffer((n, m), "float32")
        for i, j, l in T.grid(n, m, k):
            with T.sblock("matmul"):
                vi, vj, vl = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    P[vi, vj] = T.float32(0)
                P[vi, vj] = P[vi, vj] + A[vi, vl] * B[vl, vj]
        for i, j in T.grid(n, m):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = P[vi, vj] * alpha + beta
