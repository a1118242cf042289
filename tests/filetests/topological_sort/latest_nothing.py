# opt: TopologicalSort{order="latest"}
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            large = R.concat((a, a, a))
            small = R.sum(a)
            b = R.multiply(large, small)
            R.output(b)
        return b
