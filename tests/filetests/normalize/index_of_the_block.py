# opt: Normalize
from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

# The written index depends on a scalar defined in the block: the whole buffer may be written.
n = TypeVar("n")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def collatz(start: T.Buffer((n,), "float32"), steps: T.Buffer((n,), "int64")):
        for i in range(n):
            with T.sblock("collatz"):
                vi = T.axis.spatial(n, i)
                value: T.int64 = start[vi]
                steps[value] = vi
