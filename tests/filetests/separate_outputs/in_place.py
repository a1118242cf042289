# opt: LegalizeOps,AnnotateTIROpPattern,SeparateOutputs
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increase(a: T.Buffer((4, 6), "float32")):
        for i, j in T.grid(4, 6):
            with T.sblock("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 6), "float32"), w: R.Tensor((3, 3), "float32")):
        cls = Module
        with R.dataflow():
            parts = R.split(x, 2, axis=1)
            first = parts[0]
            other = R.call_tir_inplace(cls.increase, (x,), out_ty=R.Tensor((4, 6), "float32"), inplace_indices=[0])
            second = parts[1]
            a = R.exp(first)
            b = R.exp(second)
            R.output(a, b, other)
        return (a, b, other)
