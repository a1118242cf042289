# opt: LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Repeated broadcasts with the same operands share one expression for the joint dimension.
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("p",), "float32"), z: R.Tensor(("q",), "float32")):
        with R.dataflow():
            a = R.multiply(x, y)
            b = R.multiply(a, x)
            c = R.multiply(y, b)
            d = R.add(a, c)
            e = R.add(d, z)
            f = R.add(y, e)
            R.output(f)
        return f
