# opt: FuseTIR
# Operators have no kernels yet.
@I.ir_module
class Module:
    @R.function(private=True)
    def fused(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = R.exp(x)
            R.output(a)
        return a

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        cls = Module
        with R.dataflow():
            a = cls.fused(x)
            R.output(a)
        return a
