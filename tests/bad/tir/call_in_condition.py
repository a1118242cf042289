from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def twice(x: T.int32) -> T.int32:
        return x * 2

    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = T.if_then_else(A[i] > 2, Module.twice(A[i]), 0)
