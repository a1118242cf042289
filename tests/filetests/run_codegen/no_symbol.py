# opt: RunCodegen{codegens={"toy":"tests/codegen/toy.sh"}}
@I.ir_module
class Module:
    @R.function(private=True)
    def group(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Codegen": "toy"})
        y = R.nn.relu(x)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y: R.Tensor((4,), "float32") = cls.group(x)
        return y
