# opt: RemoveRedundantReshape
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32")):
        with R.dataflow():
            a = R.reshape(x, (6, 4))
            b = R.reshape(a, (24,))
            c = R.reshape(b, (4, 6))
            y = R.nn.relu(c)
            z = R.reshape(y, (4, 6))
            R.output(z)
        return z
