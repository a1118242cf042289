# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        a = R.exp(x))
        b = R.add(x, x
        c = R.add(b b)
        return c

    @R.function
    def other(x: R.Tensor((4,), dtype="float32"))
        return x
