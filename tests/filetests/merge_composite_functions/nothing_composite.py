# opt: MergeCompositeFunctions
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y
