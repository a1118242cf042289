# opt: EliminateCommonSubexpr
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def bump(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("bump"):
                v = T.axis.spatial(4, i)
                A[v] = A[v] + T.float32(1)

    # The second exponential is overwritten, through a tuple; the others may be merged.
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        a = R.exp(x)
        b = R.exp(x)
        p = (b, a)
        c = p[0]
        d = R.call_tir_inplace(cls.bump, (c,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
        e = R.sin(x)
        f = R.sin(x)
        g = R.add(e, f)
        h = R.add(g, d)
        i = R.add(h, a)
        return i

    # Each has memory of its own.
    @R.function
    def allocations():
        a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        c = R.add(a, b)
        return c
