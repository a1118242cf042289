# opt: ReorderPermuteDimsAfterConcat
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            pa = R.permute_dims(a)
            same = R.permute_dims(b, axes=[0, 1])
            x = R.concat((pa, same), axis=1)
            y = R.concat((pa, b), axis=1)
            z = R.concat((pa,), axis=1)
            out = R.concat((x, y, z), axis=1)
            R.output(out)
        return out
