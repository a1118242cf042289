# opt: RemoveRedundantReshape
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fill(x: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                x[v] = T.float32(0)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.reshape(x, (4,))
        z = R.call_tir_inplace(Module.fill, (y,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
        w = R.add(x, z)
        return w
