# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((4,), "float32"), n: T.int64, B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.Cast("float32", n)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        cls = Module
        y = R.call_tir(cls.scale, (x, T.float32(1.0)), out_ty=R.Tensor((4,), dtype="float32"))
        return y
