# opt: tirx.VectorizeLoop{enable_vectorize=false}
# Vectorized loops become serial; others are unchanged.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32")):
        for i in T.parallel(4):
            for j in T.vectorized(16):
                A[i * 16 + j] = T.float32(0)
