# opt: FuseOpsByPattern{patterns=[["x.a", "R.exp(_)"], ["x.b", "R.add(_, _)"]]},MergeCompositeFunctions
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increase(a: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
        cls = Module
        with R.dataflow():
            p = R.tanh(x)
            a = R.exp(p)
            over = R.call_tir_inplace(cls.increase, (p,), out_ty=R.Tensor((4, 4), "float32"), inplace_indices=[0])
            b = R.exp(over)
            c = R.add(a, b)
            R.output(c)
        return c
