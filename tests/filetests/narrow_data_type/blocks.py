# opt: tirx.NarrowDataType{target_bits=32}
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(64), T.int64(32)), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        for i_0, k, i_1 in T.grid(T.int64(8), T.int64(32), T.int64(8)):
            with T.sblock("B"):
                vi = T.axis.spatial(T.int64(64), i_0 * T.int64(8) + i_1)
                vk = T.axis.reduce(T.int64(32), k)
                T.where(i_0 * T.int64(8) + i_1 < T.int64(60))
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
