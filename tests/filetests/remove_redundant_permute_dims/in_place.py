# opt: RemoveRedundantPermuteDims
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increase(a: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        cls = Module
        with R.dataflow():
            p = R.exp(x)
            same = R.match_cast(p, R.Tensor((4, 4), "float32"))
            t = R.permute_dims(same, axes=[1, 0])
            over = R.call_tir_inplace(cls.increase, (p,), out_ty=R.Tensor((4, 4), "float32"), inplace_indices=[0])
            u = R.permute_dims(t, axes=[1, 0])
            s = R.permute_dims(over, axes=[1, 0])
            v = R.permute_dims(s, axes=[1, 0])
            y = R.add(u, v)
            R.output(y)
        return y
