# opt: tirx.ForceNarrowIndexToInt32
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(64), T.int64(32)), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        C = T.sblock_alloc_buffer((T.int64(64), T.int64(32)))
        for i, k in T.grid(T.int64(64), T.int64(32)):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SS", [i, k])
                C[vi, vk] = A[vi, vk] * T.Cast("float32", vk % T.int64(7))
        for i, k in T.grid(T.int64(64), T.int64(32)):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + C[vi, vk]
