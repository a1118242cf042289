from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def kernel(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        with T.blok("b"):
            vi = T.axis.spatial(8, 0)
            B[vi, 0] = T.nope(A[vi, 0])
        with T.sblock("c", nmae="x"):
            vj = T.axis.spatial(8, 0)
            B[vj] = A[vj, 0]
