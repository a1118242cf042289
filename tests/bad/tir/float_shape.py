# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4.0,), "float32"), B: T.Buffer((4,), "float32")):
        B[0] = A[0]
