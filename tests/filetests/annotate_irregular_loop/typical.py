# opt: s_tir.AnnotateIrregularLoop
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(8):
            for j in range(8):
                if A[i * 8 + j] < T.float32(0):
                    break
                B[i * 8 + j] = A[i * 8 + j]
            if B[i] < T.float32(1):
                continue
            for j in range(8):
                B[j] = B[j] + T.float32(1)
