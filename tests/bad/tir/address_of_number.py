from tvm.script import tirx as T


@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.uint64):
    p: T.handle("float32") = T.reinterpret("handle", n)
    B = T.decl_buffer((8,), "float32", data=p)
    B[0] = A[0]
    q: T.handle("float32") = T.Cast("handle", n)
    C = T.decl_buffer((8,), "float32", data=q)
    C[0] = A[0]
