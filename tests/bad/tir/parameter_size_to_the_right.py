# The size of a parameter is read from one to its right.
@T.prim_func
def kernel(a: T.handle, m: T.Buffer((2,), "int32")):
    A = T.match_buffer(a, (m[0],), "float32")
    A[0] = T.float32(1)
