# opt: tirx.FlattenBuffer
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 8, 8), "float32"), C: T.Buffer((64, 8), "float32", strides=[16, 2]), D: T.Buffer((512,), "float32")):
        B = T.alloc_buffer((8, 64), "float32")
        V = T.decl_buffer((64, 8), "float32", data=A.data)
        for i, j, k in T.grid(8, 8, 8):
            B[i, j * 8 + k] = A[i, j, k] + V[j, k]
        for i in range(512):
            D[i] = A[i // 64, i % 64 // 8, i % 8]
        for i in range(64):
            C[i, 0:8] = B[i // 8, T.Ramp(i % 8 * 8, 1, 8)]
        T.evaluate(T.call_extern("int32", "f", T.address_of(A[1, 2, 3]), A.data))
