# opt: CanonicalizeBindings
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            y = x
            lv = R.exp(y)
            pair = (lv, x)
            first = pair[0]
            gv = R.add(first, y)
            out = gv
            R.output(out)
        return out
