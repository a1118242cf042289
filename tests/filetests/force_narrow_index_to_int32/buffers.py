# opt: tirx.ForceNarrowIndexToInt32
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(64),), "int64")):
        for i in range(T.int64(64)):
            A[i] = i
