# opt: FuseTIR
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(a: T.Buffer((4,), "float32"), c: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("add"):
                v = T.axis.spatial(4, i)
                T.reads(a[v])
                T.writes(c[v])
                c[v] = a[v] + a[v]

    @R.function(private=True)
    def fused(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        R.func_attr({"Primitive": True})
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            g = (b, b)
            R.output(g)
        return g

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        cls = Module
        with R.dataflow():
            b = cls.fused(x)
            R.output(b)
        return b
