# opt: FuseOpsByPattern{patterns=[["x.product_relu", "R.nn.relu(R.matmul(_, _))"]]}
# What else uses a value of a group gets it from its function; a value of one group is in no other.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            product = R.matmul(x, w)
            first = R.nn.relu(product)
            second = R.nn.relu(product)
            R.output(first, second)
        return (first, second)
