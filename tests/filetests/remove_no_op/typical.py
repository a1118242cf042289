# opt: tirx.RemoveNoOp
# Empty loops and branches, including those that become empty.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = A[i]
        for i in range(0):
            B[i] = T.float32(0)
        for i in range(8):
            if i < 4:
                T.evaluate(A[i])
            else:
                B[i] = A[i]
            if A[i] < T.float32(0):
                T.evaluate(0)
