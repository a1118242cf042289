# opt: FuseOpsByPattern{patterns=[["a.relu", "R.nn.relu(_)"], ["a.matmul", "R.matmul(_, _)"], ["a.reshape", "R.reshape(_, _)"]]},MergeCompositeFunctions
# Each function has its own symbolic sizes; one that is called twice is defined once.
n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.matmul(b, w)
            d = R.reshape(c, R.shape([n * 4]))
            R.output(d)
        return d
