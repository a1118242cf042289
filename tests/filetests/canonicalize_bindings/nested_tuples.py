# opt: CanonicalizeBindings
# A nested tuple field is replaced by the value that it aliases.
@I.ir_module
class Module:
    @R.function
    def main(p: R.Tensor((4,), "float32"), q: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = q
            t = (p, (a, p))
            u = t[1]
            b = u[0]
            c = R.add(a, b)
            R.output(c, u)
        return (c, u)
