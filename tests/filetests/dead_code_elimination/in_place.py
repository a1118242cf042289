# opt: DeadCodeElimination
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add_to(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("a"):
                v = T.axis.spatial(4, i)
                a[v] = a[v] + b[v]

    @R.function
    def main(x: R.Tensor((4,), "float32"), d: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            p = R.add(d, x)
            read_later = R.call_tir_inplace(cls.add_to, (p, x), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0])
            dead = R.exp(x)
            over_dead = R.call_tir_inplace(cls.add_to, (dead, x), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0])
            seen_by_the_caller = R.call_tir_inplace(cls.add_to, (x, d), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0])
            s = R.exp(p)
            R.output(s)
        return s
