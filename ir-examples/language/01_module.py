# A file holds a module; a module holds functions. This one has a graph, `main`, of one operator.
#
# $ hammock run 01_module.py --arg '[1, 2, 3]:float32'
# float32[3]
# [2.0 4.0 6.0]
#
# Every name on the left of `=` is bound once; its type may be written after a colon, and is checked if it is.
# `R` is the language of graphs (Relax), `T` that of kernels (TIR), `I` that of modules. Import lines may be written as
# code, as comments, or not at all: the text is read, not run.

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        doubled: R.Tensor((3,), dtype="float32") = R.add(x, x)
        return doubled
