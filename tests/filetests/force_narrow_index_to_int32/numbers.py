# opt: tirx.ForceNarrowIndexToInt32
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(64),), "float32")):
        for i in range(T.int64(64)):
            A[i] = T.Cast("float32", i * T.int64(3000000000))
