# opt: ReorderPermuteDimsAfterConcat
n = TypeVar("n")
m = TypeVar("m")
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((n, 3, 4), "float32"), b: R.Tensor((m, 3, 4), "float32")):
        with R.dataflow():
            pa = R.permute_dims(a, axes=[1, 2, 0])
            pb = R.permute_dims(b, axes=[1, 2, 0])
            w = R.concat((pa, pb), axis=2)
            R.output(w)
        return w
