# The size of a parameter is a loop variable.
@T.prim_func
def kernel(a: T.handle):
    for i in range(4):
        A = T.match_buffer(a, (i,), "float32")
        A[0] = T.float32(1)
