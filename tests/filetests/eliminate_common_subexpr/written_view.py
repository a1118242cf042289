# opt: EliminateCommonSubexpr
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def increase(a: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("a"):
                v = T.axis.spatial(4, i)
                a[v] = a[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        cls = Module
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(x)
            c = R.reshape(a, (4,))
            d = R.call_tir_inplace(cls.increase, (c,), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0])
            e = R.add(R.flatten(b), d)
            R.output(e)
        return e
