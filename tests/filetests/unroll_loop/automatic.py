# opt: tirx.UnrollLoop{auto_max_step=4,explicit_unroll=false}
# Short serial loops are only annotated.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 2), "float32"), B: T.Buffer((8, 2), "float32")):
        for i, j in T.grid(8, 2):
            B[i, j] = A[i, j]
