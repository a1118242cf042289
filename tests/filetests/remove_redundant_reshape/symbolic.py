# opt: RemoveRedundantReshape
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), "float32")):
        with R.dataflow():
            a = R.reshape(x, (n * 4,))
            b = R.reshape(a, (n, 4))
            y = R.nn.relu(b)
            z = R.reshape(y, (4, n))
            R.output(z)
        return z
