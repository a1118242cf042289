# opt: tirx.RemoveNoOp
# Calls are retained: they may have any effect.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        T.evaluate(T.call_extern("int32", "tick", 1))
        if T.call_extern("int32", "tock", 1) == 0:
            T.evaluate(0)
        A[T.call_extern("int32", "next")] = A[T.call_extern("int32", "next")]
