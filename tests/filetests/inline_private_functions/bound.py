# opt: InlinePrivateFunctions{max_growth=4}
@I.ir_module
class Module:
    # Called twice: the copy has three bindings and parameters; the limit is four.
    @R.function(private=True)
    def small(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.exp(x)
        z = R.log(y)
        return z

    # The copies would exceed the remaining limit.
    @R.function(private=True)
    def large(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = Module.small(x)
        b = R.tanh(a)
        return b

    # Called once: no copy.
    @R.function(private=True)
    def once(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = Module.small(x)
        b = R.sin(a)
        c = R.cos(b)
        d = R.sqrt(c)
        return d

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = Module.large(x)
        b = Module.large(a)
        c = Module.once(b)
        return c
