# opt: Normalize,DataflowUseInplaceCalls
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # A sequence has the memory of what was inserted: `a` and `b` are live until its last use.
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            a = R.add(x, x)
            s = R.sequence_construct(a)
            b = R.multiply(a, x)
            t = R.sequence_insert(s, b)
            e = R.sequence_at(t, R.prim_value(0))
            f = R.match_cast(e, R.Tensor((4,), dtype="float32"))
            g = R.negative(f)
            c = R.sequence_concat(t, R.prim_value(0), True)
            d = R.match_cast(c, R.Tensor((2, 4), dtype="float32"))
            h = R.sum(d, axis=[0])
            r = R.add(g, h)
            R.output(r)
        return r
