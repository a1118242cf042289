from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        doubled: R.Tensor((3,), dtype="float32") = R.add(x, x)
        return doubled
