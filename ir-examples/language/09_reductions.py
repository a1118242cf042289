# A reduction starts from its `T.init()` value. Kernels may have several outputs, temporary buffers, and scalar parameters,
# which come after the inputs.
#
# $ hammock run 09_reductions.py --arg '[[1, 2], [3, 4], [5, 9]]:float32' --arg 2
# 0: float32[3]
# [1.5 3.5 7.0]
# 1: float32[3]
# [0.5 0.5 2.0]

from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

n = TypeVar("n")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def statistics(x: T.Buffer((n, T.int64(2)), "float32"), count: T.int64, mean: T.Buffer((n,), "float32"), spread: T.Buffer((n,), "float32")):
        T.func_attr({"tirx.noalias": True})
        total = T.sblock_alloc_buffer((n,), "float32")
        top = T.sblock_alloc_buffer((n,), "float32")
        for i, k in T.grid(n, T.int64(2)):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                    top[vi] = T.min_value("float32")
                total[vi] = total[vi] + x[vi, vk]
                top[vi] = T.max(top[vi], x[vi, vk])
        for i in range(n):
            with T.sblock("result"):
                vi = T.axis.spatial(n, i)
                mean[vi] = total[vi] / T.Cast("float32", count)
                spread[vi] = top[vi] - total[vi] / T.Cast("float32", count)

    @R.function
    def main(x: R.Tensor((n, 2), dtype="float32"), count: T.int64):
        cls = Module
        both = R.call_tir(cls.statistics, (x, count), out_ty=[R.Tensor((n,), dtype="float32"), R.Tensor((n,), dtype="float32")])
        return both
