# opt: tirx.UnrollLoop
# Too long to unroll.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((10000000,), "float32")):
        for i in T.unroll(10000000):
            A[i] = T.float32(0)
