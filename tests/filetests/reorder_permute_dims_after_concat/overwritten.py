# opt: ReorderPermuteDimsAfterConcat
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def fill(x: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("fill"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = T.float32(0)

    @R.function
    def main(a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32")):
        pa = R.permute_dims(a)
        pb = R.permute_dims(b)
        filled = R.call_tir_inplace(Module.fill, (a,), inplace_indices=[0], out_ty=R.Tensor((4, 4), "float32"))
        x = R.concat((pa, pb), axis=1)
        out = R.add(R.sum(x), R.sum(filled))
        return out
