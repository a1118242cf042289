# opt: RewriteDataflowReshape
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def transpose(x: T.Buffer((4, 3), "float32"), y: T.Buffer((12,), "float32")):
        for i in range(12):
            with T.sblock("b"):
                v = T.axis.spatial(12, i)
                y[v] = x[v % 4, v // 4]

    @T.prim_func(private=True, s_tir=True)
    def half(x: T.Buffer((4, 3), "float32"), y: T.Buffer((12,), "float32")):
        for i in range(6):
            with T.sblock("b"):
                v = T.axis.spatial(12, i)
                y[v] = x[v // 3, v % 3]

    @T.prim_func(private=True, s_tir=True)
    def crossed(x: T.Buffer((4, 3), "float32"), y: T.Buffer((12,), "float32")):
        for i, j in T.grid(3, 4):
            with T.sblock("b"):
                u = T.axis.spatial(3, i)
                v = T.axis.spatial(4, i)
                y[u * 4 + v] = x[(u * 4 + v) // 3, (u * 4 + v) % 3]

    @T.prim_func(private=True, s_tir=True)
    def flat(x: T.Buffer((4, 3), "float32"), y: T.Buffer((12,), "float32")):
        for i in range(12):
            with T.sblock("b"):
                v = T.axis.spatial(12, i)
                y[v] = x[v // 3, v % 3]

    @T.prim_func(private=True, s_tir=True)
    def widened(x: T.Buffer((4, 3), "float32"), y: T.Buffer((4, 3), "float32")):
        for i, j in T.grid(4, 3):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj]

    @T.prim_func(private=True, s_tir=True)
    def fill(x: T.Buffer((4, 3), "float32")):
        for i, j in T.grid(4, 3):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = T.float32(0)

    @R.function
    def main(x: R.Tensor((4, 3), "float32"), y: R.Tensor((4, 3), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.transpose, (x,), out_ty=R.Tensor((12,), "float32"))
            b = R.call_tir(cls.half, (x,), out_ty=R.Tensor((12,), "float32"))
            c = R.call_tir(cls.crossed, (x,), out_ty=R.Tensor((12,), "float32"))
            d = R.call_tir(cls.flat, (y,), out_ty=R.Tensor((12,), "float32"))
            e = R.call_tir_inplace(cls.fill, (y,), inplace_indices=[0], out_ty=R.Tensor((4, 3), "float32"))
            f = R.call_tir(cls.widened, (x,), out_ty=R.Tensor((4, 3), "float32"))
            g = R.call_tir_inplace(cls.fill, (f,), inplace_indices=[0], out_ty=R.Tensor((4, 3), "float32"))
            out = R.call_tir(cls.flat, (x,), out_ty=R.Tensor((12,), "float32"))
            z = (a, b, c, d, e, g)
            R.output(out, z)
        return (out, z)
