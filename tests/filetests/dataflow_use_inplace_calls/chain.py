# opt: Normalize,DataflowUseInplaceCalls
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Arguments are not overwritten, nor are tensors that are too small for the result.
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), y: R.Tensor((1, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            z = R.add(x, y)
            a = R.add(z, y)
            q = R.multiply(a, y)
            r = R.subtract(y, y)
            s = R.subtract(r, r)
            m = R.multiply(q, s)
            R.output(m)
        return m
