# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("scale"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        cls = Module
        y = R.call_tir_inplace(cls.scale, (x,), inplace_indices=[3], out_ty=[R.Tensor((4,), dtype="float32")])
        return y
