# opt: Normalize,DataflowUseInplaceCalls
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Live values, also live through an alias, are not overwritten.
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4, 1), dtype="float32"), R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            a = R.exp(x)
            t = (a, x)
            b = R.add(a, x)
            v = R.expand_dims(b, axis=[1])
            c = R.nn.relu(b)
            d = t[0]
            e = R.exp(d)
            w = R.call_pure_packed("mystery", e, ty_args=(R.Tensor((4,), dtype="float32"),))
            f = R.nn.silu(e)
            g = (c, v, w)
            h = R.exp(f)
            R.output(g)
        return g

    # Two views of the same memory.
    @R.function
    def views(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4, 1), dtype="float32"):
        with R.dataflow():
            y = R.exp(x)
            lv = R.expand_dims(y, axis=[1])
            lv1 = R.expand_dims(y, axis=[1])
            gv = R.add(lv, lv1)
            R.output(gv)
        return gv

    # Not in a dataflow block.
    @R.function
    def plain(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y = R.exp(x)
        z = R.nn.relu(y)
        return z
