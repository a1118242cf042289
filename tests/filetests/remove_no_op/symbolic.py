# opt: tirx.RemoveNoOp
# An empty loop of symbolic extent; the other one is retained.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = B[i]
        for i in range(n):
            A[i] = B[i]
