# opt: CombineParallelMatmul
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increase(a: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        cls = Module
        with R.dataflow():
            p = R.exp(x)
            alias = (p, v)
            first = alias[0]
            a = R.matmul(first, v)
            over = R.call_tir_inplace(cls.increase, (p,), out_ty=R.Tensor((4, 4), "float32"), inplace_indices=[0])
            b = R.matmul(first, w)
            R.output(a, b)
        return (a, b)
