from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function(private=True)
    def twice(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.add(x, x)
        return y

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        ten = R.full(R.shape([2]), R.const(10.0, "float32"), dtype="float32")

        @R.function
        def add_ten(z: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            w = R.add(z, ten)
            return w

        doubled = cls.twice(x)
        moved = add_ten(doubled)
        result = R.subtract(moved, x)
        return result
