# opt: RewriteDataflowReshape
n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def a(x: T.Buffer((2, 4096, 320), "float32"), y: T.Buffer((2, 4096, 5, 64), "float32")):
        for i, j, k, l in T.grid(2, 4096, 5, 64):
            with T.sblock("b"):
                v0, v1, v2, v3 = T.axis.remap("SSSS", [i, j, k, l])
                y[v0, v1, v2, v3] = x[(((v2 * 64 + v3) // 320 + v1) // 4096 + v0) % 2, ((v2 * 64 + v3) // 320 + v1) % 4096, (v2 * 64 + v3) % 320]
    @T.prim_func(private=True, s_tir=True)
    def b(x: T.Buffer((2, 4096, 320), "float32"), y: T.Buffer((2, 4096, 5, 64), "float32")):
        for q in range(2*4096*320):
            with T.sblock("b"):
                v0 = T.axis.spatial(2, q // 1310720)
                v1 = T.axis.spatial(4096, q % 1310720 // 320)
                v2 = T.axis.spatial(5, q % 320 // 64)
                v3 = T.axis.spatial(64, q % 64)
                y[v0, v1, v2, v3] = x[v0, v1, v2 * 64 + v3]
    @T.prim_func(private=True, s_tir=True)
    def c(x: T.Buffer((n, 4), "float32"), y: T.Buffer((n * 4,), "float32")):
        for i in range(n * 4):
            with T.sblock("b"):
                v0 = T.axis.spatial(n * 4, i)
                y[v0] = x[v0 // 4 % n, v0 % 4]
    @R.function
    def main(x: R.Tensor((2, 4096, 320), "float32"), y: R.Tensor((n, 4), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.a, (x,), out_ty=R.Tensor((2, 4096, 5, 64), "float32"))
            b = R.call_tir(cls.b, (x,), out_ty=R.Tensor((2, 4096, 5, 64), "float32"))
            c = R.call_tir(cls.c, (y,), out_ty=R.Tensor((n*4,), "float32"))
            z = (a, b, c)
            R.output(z)
        return z
