# opt: tirx.FlattenBuffer
# The error names the pass to run first.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 8), "float32")):
        for i in range(8):
            with T.sblock("zero"):
                A[i, i] = T.float32(0)
