# An element of a vector is indexed again.
@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i][0]
