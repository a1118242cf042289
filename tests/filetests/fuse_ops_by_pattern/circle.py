# opt: FuseOpsByPattern{patterns=[["x.sum", "R.add(R.nn.relu(_), _)"]]}
# The group would depend on its own result.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            first = R.nn.relu(x)
            between = R.exp(first)
            y = R.add(first, between)
            R.output(y)
        return y
