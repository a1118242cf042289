# opt: tirx.CommonSubexprElim
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            if i < 32 and B[i] < A[i]:
                A[i] = T.exp(B[i]) + B[63 - i]
            if i < 32 and B[i] < A[i]:
                B[i] = T.exp(B[i])
