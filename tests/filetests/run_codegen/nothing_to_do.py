# opt: RunCodegen
# Groups without the attribute `Codegen` are ignored.
@I.ir_module
class Module:
    @R.function(private=True)
    def group(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Composite": "toy.relu", "Primitive": True})
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            y: R.Tensor((4,), "float32") = cls.group(x)
            R.output(y)
        return y
