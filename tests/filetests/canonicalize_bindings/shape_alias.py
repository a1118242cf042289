# opt: CanonicalizeBindings,LegalizeOps
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def copy(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                y[v] = x[v]

    @R.function
    def main(x: R.Tensor((4,), "float32"), s: R.Shape(ndim=1), n: T.int64):
        s2 = s
        m = n
        y = R.call_tir(Module.copy, (x,), out_ty=R.Tensor(s2, "float32"))
        z = R.nn.relu(y)
        w = R.zeros(R.shape([m + 1]), "float32")
        return (z, w)
