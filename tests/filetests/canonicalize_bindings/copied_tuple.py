# opt: CanonicalizeBindings
@I.ir_module
class Module:
    @R.function
    def main(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((3,), "float32")), u: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((3,), "float32"), R.Tensor((3,), "float32"))):
        a = t[0]
        b = t[1]
        same = (a, b)
        c = u[0]
        d = u[1]
        part = (c, d)
        swapped = (b, a)
        return (same, part, swapped)
