# opt: ReorderPermuteDimsAfterConcat
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((8, 4), "float32"), b: R.Tensor((6, 4), "float32"), c: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            wa = R.permute_dims(a)
            wb = R.permute_dims(b, axes=[1, 0])
            wc = R.permute_dims(c, axes=[-1, 0])
            w = R.concat((wa, wb, wc), axis=-1)
            R.output(w)
        return w
