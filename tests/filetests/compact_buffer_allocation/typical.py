# opt: s_tir.CompactBufferAllocation
# A tile of rows with a halo; a region restricted by a condition; a padded image.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((34, 34), "float32"), V: T.Buffer((32, 32), "float32")):
        for i_0 in range(4):
            with T.sblock(""):
                H = T.sblock_alloc_buffer((34, 32))
                for y, x in T.grid(10, 32):
                    with T.sblock("H"):
                        H[i_0 * 8 + y, x] = A[i_0 * 8 + y, x] + A[i_0 * 8 + y, x + 2]
                for y, x in T.grid(8, 32):
                    with T.sblock("V"):
                        V[i_0 * 8 + y, x] = H[i_0 * 8 + y, x] + H[i_0 * 8 + y + 1, x] + H[i_0 * 8 + y + 2, x]

    @T.prim_func(s_tir=True)
    def branches(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
        with T.sblock(""):
            B = T.sblock_alloc_buffer((64, 64))
            D = T.sblock_alloc_buffer((64, 64))
            for i, j in T.grid(64, 64):
                if i < 32 or j < 48:
                    if i * 2 + 1 < 20:
                        B[i, j] = A[i, j]
                        C[i, j] = B[i, j]
                else:
                    D[i, j] = A[i, j] + T.float32(1)
                    C[i, j] = D[i, j]

    @T.prim_func(s_tir=True)
    def padded(A: T.Buffer((30, 30), "float32"), C: T.Buffer((30, 30), "float32")):
        for y in range(30):
            with T.sblock(""):
                pad = T.sblock_alloc_buffer((32, 32))
                for i, j in T.grid(3, 32):
                    with T.sblock("pad"):
                        pad[y + i, j] = T.if_then_else(1 <= y + i and y + i < 31 and 1 <= j and j < 31, A[y + i - 1, j - 1], T.float32(0))
                for x in range(30):
                    with T.sblock("C"):
                        C[y, x] = pad[y, x] + pad[y + 1, x + 1] + pad[y + 2, x + 2]
