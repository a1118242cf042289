# opt: ToNonDataflow,LazyTransformParams
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increase(a: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] + T.float32(1)

    @R.function
    def transform_params(w: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32")):
        cls = Module
        a = R.exp(w)
        pair = (a, v)
        alias = pair[0]
        b = R.exp(v)
        over = R.call_tir_inplace(cls.increase, (alias,), out_ty=R.Tensor((4, 4), "float32"), inplace_indices=[0])
        return (a, b)
