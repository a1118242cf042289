# Other statements of kernels: local scalars, let bindings, selects, `break`, casts, bit operations.
#
# $ hammock run 10_kernel_statements.py --arg '[27, 1, 6]:int64'
# int64[3]
# [111   0   8]
#
# `x: T.int64 = e` is a scalar that may be assigned again; `x: T.let[T.int64] = e` is a name for a value. Of
# `T.if_then_else(c, a, b)` only the selected value is computed, of `T.Select(c, a, b)` both.

from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

n = TypeVar("n")

@I.ir_module
class Module:
    # The number of steps of n/2 or 3n+1 until 1 is reached.
    @T.prim_func(private=True, s_tir=True)
    def collatz(start: T.Buffer((n,), "int64"), steps: T.Buffer((n,), "int64")):
        for i in range(n):
            with T.sblock("collatz"):
                vi = T.axis.spatial(n, i)
                value: T.int64 = start[vi]
                count: T.int64 = T.int64(0)
                while value > T.int64(1):
                    odd: T.let[T.bool] = (value & T.int64(1)) == T.int64(1)
                    value = T.Select(odd, value * T.int64(3) + T.int64(1), value >> T.int64(1))
                    count = count + T.int64(1)
                steps[vi] = count

    @R.function
    def main(x: R.Tensor((n,), dtype="int64")) -> R.Tensor((n,), dtype="int64"):
        cls = Module
        steps = R.call_tir(cls.collatz, (x,), out_ty=R.Tensor((n,), dtype="int64"))
        return steps
