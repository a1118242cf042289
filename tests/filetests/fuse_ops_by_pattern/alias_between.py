# opt: FuseOpsByPattern{patterns=[["x.relu_relu", "R.nn.relu(R.nn.relu(_))"]]}
# Only an alias is in between.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            first = R.nn.relu(x)
            alias = first
            y = R.nn.relu(alias)
            R.output(y)
        return y
