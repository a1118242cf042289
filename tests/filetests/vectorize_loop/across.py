# opt: tirx.VectorizeLoop
# The error names the pass to run first.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 16), "float32")):
        for i in T.vectorized(16):
            A[i, 0] = T.float32(0)
