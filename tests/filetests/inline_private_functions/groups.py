# opt: InlinePrivateFunctions{primitive=false}
@I.ir_module
class Module:
    @R.function(private=True)
    def group(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    @R.function(private=True)
    def other(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = Module.group(x)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = Module.other(x)
        return y
