# Dynamic sizes are symbolic: `n = TypeVar("n")` above the module. Every function that mentions
# `n` has its own; it is bound by the arguments, and every other occurrence is checked against that value.
#
# $ hammock run 04_symbolic_shapes.py --arg '[[1, 2], [3, 4], [5, 6]]:float32'
# float32[6]
# [1.0 2.0 3.0 4.0 5.0 6.0]
#
# In a signature, computed sizes are quoted. `R.match_cast` asserts a shape that cannot be inferred, and names its sizes:
#
# $ hammock run 04_symbolic_shapes.py --func count --arg '[0, 5, 0, 7]:int64'
# 2

from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 2), dtype="float32")) -> R.Tensor(("n * 2",), dtype="float32"):
        flat = R.reshape(x, R.shape([n * 2]))
        return flat

    @R.function
    def count(x: R.Tensor((n,), dtype="int64")) -> T.int64:
        m = T.int64()
        found = R.nonzero(x)
        places = R.match_cast(found, R.Tensor((1, m), dtype="int64"))
        return m
