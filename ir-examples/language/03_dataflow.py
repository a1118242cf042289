# A dataflow block promises that its bindings have no side effects and no branches, so passes may move and drop them.
# Its variables are local; those in `R.output` are visible after it.
#
# $ hammock run 03_dataflow.py --arg '[-1, 4]:float32'
# float32[2]
# [0.0 2.0]
#
# `unused` is removed as dead code:
#
# $ hammock opt 03_dataflow.py --passes DeadCodeElimination | grep -c unused
# 0

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            positive = R.nn.relu(x)
            unused = R.exp(x)
            root = R.sqrt(positive)
            R.output(root)
        return root
