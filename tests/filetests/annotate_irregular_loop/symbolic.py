# opt: s_tir.AnnotateIrregularLoop
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, n: T.int64):
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            if T.float32(1) < A[i]:
                break
            A[i] = T.float32(1)
