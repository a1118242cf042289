# A kernel that accumulates into its output.

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add_to(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("add"):
                vi = T.axis.spatial(8, i)
                y[vi] += x[vi]

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        cls = Module
        y = R.call_tir(cls.add_to, (x,), out_ty=R.Tensor((8,), "float32"))
        return y
