# opt: s_tir.LowerMatchBuffer
# Variable sizes, strides and offsets are replaced by their values.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, B: T.Buffer((64, 64), "float32"), n: T.int32, m: T.int32):
        A = T.match_buffer(a, (n, m), "float32")
        for i in T.serial(n):
            with T.sblock(""):
                T.reads(A[i, 0:m])
                T.writes(B[0:64, 0:64])
                s0, s1, off, k = T.int32(), T.int32(), T.int32(), T.int32()
                row = T.match_buffer(A[i, 0:m], (1, k), strides=[s0, s1], elem_offset=off)
                T.evaluate(T.call_extern("int32", "f", row.data, off, s0, s1, k, row[0, k - 1]))
