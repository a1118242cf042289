# opt: tirx.SkipAssert
# In loops as well.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(n: T.int32, A: T.Buffer((8,), "float32")):
        assert n < 8, "too many"
        for i in range(8):
            assert A[i] > T.float32(0), "negative"
            A[i] = T.sqrt(A[i])
