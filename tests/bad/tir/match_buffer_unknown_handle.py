# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle):
        A = T.match_buffer(b, (4,), "float32")
        A[0] = T.float32(0.0)
