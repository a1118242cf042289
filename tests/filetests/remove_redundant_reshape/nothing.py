# opt: RemoveRedundantReshape
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.reshape(x, (3, 2))
            y = R.nn.relu(a)
            z = R.reshape(y, (6,))
            R.output(z)
        return z
