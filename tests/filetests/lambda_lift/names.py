# opt: LambdaLift
@I.ir_module
class Module:
    @R.function
    def main_inner(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            b = R.exp(a)
            return b

        @R.function
        def maker(c: R.Tensor((2,), "float32")) -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True):
            @R.function
            def made(d: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                e = R.add(d, c)
                return e

            return made

        @R.function(pure=False)
        def public(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            R.func_attr({"global_symbol": "shown"})
            q = R.negative(p)
            return q

        f = maker(x)
        g = f
        z = g(inner(y))
        return z
