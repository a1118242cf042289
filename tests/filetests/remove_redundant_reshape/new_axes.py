# opt: RemoveRedundantReshape
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n,), dtype="float32"), y: R.Tensor((1, n, 4, 1), dtype="float32")):
        with R.dataflow():
            a = R.expand_dims(x, axis=[0, 2])
            b = R.reshape(a, R.shape([1, 1, n]))
            c = R.squeeze(y, axis=[0])
            d = R.reshape(c, R.shape([4 * n]))
            R.output(b, d)
        return (b, d)
