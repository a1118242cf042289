from tvm.script import ir as I, relax as R

@I.ir_module
class Halve:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")):
        y = R.divide(x, R.const(2.0, "float32"))
        return y

@I.ir_module
class Square:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")):
        y = R.multiply(x, x)
        return y
