from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            positive = R.nn.relu(x)
            unused = R.exp(x)
            root = R.sqrt(positive)
            R.output(root)
        return root
