# opt: FuseOpsByPattern{patterns=[["a.split", "R.split(_)"], ["a.relu", "R.nn.relu(_)"], ["a.concat", "R.concat(_)"]]},MergeCompositeFunctions
# Tuple fields join the tuple's region.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            halves = R.split(x, 2, axis=1)
            left = R.nn.relu(halves[0])
            right = R.nn.relu(halves[1])
            both = R.concat((right, left), axis=1)
            y = R.nn.relu(both)
            R.output(y)
        return y
