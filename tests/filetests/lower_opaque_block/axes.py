# opt: s_tir.LowerOpaqueBlock
# The error names the pass to run first.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("copy"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
