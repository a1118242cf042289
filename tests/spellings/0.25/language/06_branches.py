from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        positive = x > R.const(0.0, "float32")
        if positive:
            y = R.multiply(x, x)
        else:
            y = R.zeros_like(x)
        return y

    @R.function
    def power(x: R.Tensor((), dtype="float32"), k: R.Tensor((), dtype="int64"), so_far: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        cls = Module
        done = R.equal(k, R.const(0, "int64"))
        if done:
            result = so_far
        else:
            result = cls.power(x, k - R.const(1, "int64"), so_far * x)
        return result
