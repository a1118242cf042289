# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i + 1, j])
                B[vi, vj] = A[vi, vj]
