# A kernel is a loop nest over buffers. `R.call_tir` calls it: inputs, then the type of the output, which is allocated.
#
# $ hammock run 08_kernels.py --arg '[[1, 2, 3], [4, 5, 6]]:float32'
# float32[3, 2]
# [[1.0 4.0]
#  [2.0 5.0]
#  [3.0 6.0]]
#
# A block is the unit of scheduling: its axes (S for spatial, R for reduction) are bound to loops, and it declares the
# regions that it reads and writes, which are inferred if omitted. In kernels, integer literals are int32, in
# graphs int64.

from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

m = TypeVar("m")
n = TypeVar("n")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def transpose(A: T.Buffer((m, n), "float32"), B: T.Buffer((n, m), "float32")):
        for i, j in T.grid(n, m):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    @R.function
    def main(x: R.Tensor((m, n), dtype="float32")) -> R.Tensor((n, m), dtype="float32"):
        cls = Module
        y = R.call_tir(cls.transpose, (x,), out_ty=R.Tensor((n, m), dtype="float32"))
        return y
