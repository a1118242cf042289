# opt: s_tir.AnnotateIrregularLoop
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32")):
        for i in T.unroll(64):
            if T.float32(1) < A[i]:
                break
            A[i] = T.float32(1)
