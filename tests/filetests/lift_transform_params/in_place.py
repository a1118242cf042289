# opt: LiftTransformParams
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increase(a: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w1: R.Tensor((4, 4), "float32"), w2: R.Tensor((4, 4), "float32")):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lifted = R.permute_dims(w1)
            own = R.exp(w2)
            over = R.call_tir_inplace(cls.increase, (own,), out_ty=R.Tensor((4, 4), "float32"), inplace_indices=[0])
            y = R.matmul(x, lifted)
            z = R.matmul(y, over)
            R.output(z)
        return z
