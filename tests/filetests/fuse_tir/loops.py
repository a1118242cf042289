# opt: FuseTIR
# A kernel without blocks cannot be fused: the function is unchanged.
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def loops(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        for i in range(8):
            y[i] = x[i]

    @R.function(private=True)
    def fused(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        R.func_attr({"Primitive": True})
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.loops, (x,), out_ty=R.Tensor((8,), "float32"))
            b = R.call_tir(cls.loops, (a,), out_ty=R.Tensor((8,), "float32"))
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        cls = Module
        with R.dataflow():
            a = cls.fused(x)
            R.output(a)
        return a
