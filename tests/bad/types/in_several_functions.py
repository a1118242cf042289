# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float16(1.0)
        continue

    @R.function
    def first(x: R.Tensor((4,), dtype="float32")):
        y = R.sofmax(x)
        return y

    @R.function
    def second(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        y = cls.first(x)
        z: R.Tensor((4,), dtype="float32") = R.reshape(x, R.shape([2, 2]))
        return z

    @R.function
    def third(x: R.Tensor((4,), dtype="float32")):
        cls = Module
        y = R.call_tir(cls.kernel, (x, x), out_ty=R.Tensor((4,), dtype="float32"))
        return y
