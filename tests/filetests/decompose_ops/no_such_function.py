# opt: DecomposeOpsForInference{func_name="forward"}
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y
