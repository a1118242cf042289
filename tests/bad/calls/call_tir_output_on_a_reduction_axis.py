# An axis that indexes the output is declared as a reduction axis.

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("add"):
                vi = T.axis.reduce(8, i)
                with T.init():
                    y[vi] = T.float32(0)
                y[vi] += x[vi]

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        cls = Module
        y = R.call_tir(cls.add, (x,), out_ty=R.Tensor((8,), "float32"))
        return y
