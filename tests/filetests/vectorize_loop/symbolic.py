# opt: tirx.VectorizeLoop
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, n: T.int32, m: T.int32):
        A = T.match_buffer(a, (n * 8 * m,), "float32")
        for i in T.serial(n):
            for v in T.vectorized(8):
                A[(i * 8 + v) * m] = A[i * 8 + v] + T.Cast("float32", n)
