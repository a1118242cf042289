# opt: ToNonDataflow,RemovePurityChecking,CallTIRRewrite
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32"), c: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("add"):
                v = T.axis.spatial(4, i)
                T.reads(a[v], b[v])
                T.writes(c[v])
                c[v] = a[v] + b[v]

    @R.function
    def main(x: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")), y: R.Tensor((4,), dtype="float32")):
        cls = Module
        a = R.call_tir(cls.add, x, out_ty=R.Tensor((4,), dtype="float32"))
        b = R.call_tir_with_grad(cls.add, (a, y), out_ty=R.Tensor((4,), dtype="float32"), te_grad_name="g", te_grad_kwargs={})
        return b
