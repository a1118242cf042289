# opt: Normalize
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    # Adjacent plain blocks are merged; the returned tuple gets a name.
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        a = R.exp(x)
        b = R.negative(R.add(a, x))
        with R.dataflow():
            c = R.multiply(a, b)
            R.output(c)
        with R.dataflow():
            d = R.tanh(c)
            R.output(d)
        return (c, d)
