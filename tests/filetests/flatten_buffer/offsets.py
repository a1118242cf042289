# opt: tirx.FlattenBuffer
# A buffer with an offset, column-major strides, and sizes of two types. Unused buffers are not declared.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def offsets(A: T.Buffer((64,), "float32"), B: T.Buffer((4, 4), "float32"), unused: T.Buffer((4, 4), "float32")):
        tail = T.decl_buffer((4, 4), data=A.data, elem_offset=16)
        columns = T.decl_buffer((4, 8), data=A.data, strides=(1, 4))
        for i, j in T.grid(4, 4):
            B[i, j] = tail[i, j] + columns[i, j + 4]

    @T.prim_func(s_tir=True)
    def sizes(b: T.handle, c: T.handle, m: T.int64):
        B = T.match_buffer(b, (32, m), "float32")
        C = T.match_buffer(c, (m,), "float32")
        for i in range(m):
            C[i] = B[31, i]
