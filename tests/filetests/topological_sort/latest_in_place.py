# opt: TopologicalSort{order="latest"}
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def increase(a: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("a"):
                v = T.axis.spatial(4, i)
                a[v] = a[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            early = R.exp(x)
            y = R.negative(x)
            z = R.call_tir_inplace(cls.increase, (y,), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0])
            out = R.add(z, early)
            R.output(out)
        return out
