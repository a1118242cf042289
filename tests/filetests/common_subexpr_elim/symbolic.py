# opt: tirx.CommonSubexprElim
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle, n: T.int64, m: T.int64):
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        flat = T.decl_buffer((n * m,), "float32", data=A.data)
        other = T.decl_buffer((n * m,), "float32", data=B.data)
        for i, j in T.grid(n, m):
            other[i * m + j] = flat[i * m + j] + T.float32(1)
