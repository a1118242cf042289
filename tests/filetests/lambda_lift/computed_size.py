# opt: LambdaLift
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    # A size that a captured type computes from is captured, too.
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), c: R.Tensor((), dtype="int64")) -> R.Tensor((), dtype="float32"):
        n = T.int64()
        first: R.Tensor((T.min(n, 3),), dtype="float32") = R.strided_slice(x, axes=(0,), begin=(0,), end=(3,))

        @R.function
        def add_up(i: R.Tensor((), dtype="int64"), s: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
            more = R.less(i, c)
            if more:
                v = R.take(first, i, axis=0)
                r = add_up(i + R.const(1, "int64"), s + v)
            else:
                r = s
            return r

        y = add_up(R.const(0, "int64"), R.const(0.0, "float32"))
        return y
