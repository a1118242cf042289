# opt: FuseOpsByPattern{patterns=[["x.product_relu", "R.nn.relu(R.matmul(_, _))"]]}
# Other users of a value get it from the group's function; a value belongs to one group only.
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
