@I.ir_module
class Module:
    @R.function(private=True)
    def halve(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            half: R.Tensor((), dtype="float32") = R.multiply(x, R.const(0.5, "float32"))
            R.output(half)
        return half

    # Halves x until it is below 1, and counts: the number of binary digits of x's integer part.
    @R.function
    def count(x: R.Tensor((), dtype="float32"), steps: R.Tensor((), dtype="int64")) -> R.Tensor((), dtype="int64"):
        cls = Module
        done: R.Tensor((), dtype="bool") = R.less(x, R.const(1.0, "float32"))
        if done:
            result: R.Tensor((), dtype="int64") = steps
        else:
            half: R.Tensor((), dtype="float32") = cls.halve(x)
            more: R.Tensor((), dtype="int64") = R.add(steps, R.const(1, "int64"))
            result: R.Tensor((), dtype="int64") = cls.count(half, more)
        return result

    @R.function
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="int64"):
        cls = Module
        digits: R.Tensor((), dtype="int64") = cls.count(x, R.const(0, "int64"))
        return digits
