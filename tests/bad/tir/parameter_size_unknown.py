# The size of a parameter is read from a buffer that is not a parameter.
@T.prim_func
def kernel(a: T.handle):
    m = T.Buffer((4,), "int32")
    A = T.match_buffer(a, (m[0],), "float32")
    A[0] = T.float32(1)
