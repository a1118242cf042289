# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Any):
        a = (x, x, x, x, x, x, x, x)
        b = (a, a, a, a, a, a, a, a)
        c = (b, b, b, b, b, b, b, b)
        d = (c, c, c, c, c, c, c, c)
        e = (d, d, d, d, d, d, d, d)
        f = (e, e, e, e, e, e, e, e)
        g = (f, f, f, f, f, f, f, f)
        h = (g, g, g, g, g, g, g, g)
        return h
