from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((2, 2), dtype="float32"):
        table = R.const([[1.0, 2.0], [3.0, 4.0]], "float32")
        twice = R.multiply(table, R.const(2.0, "float32"))
        return twice
