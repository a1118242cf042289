# opt: tirx.FlattenBuffer
# One dimension already: only buffer declarations for the parameters are added.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,), "float32")
        for i in range(8):
            B[i] = A[i]
