# opt: SplitLayoutRewritePreproc
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # The weight is also used in its original layout: it cannot be replaced.
    @T.prim_func(private=True, s_tir=True)
    def f(W: T.Buffer((T.int64(8),), "float32"), Y: T.Buffer((T.int64(8),), "float32")):
        with T.sblock("root"):
            P = T.sblock_alloc_buffer((T.int64(8),))
            for i in range(T.int64(8)):
                with T.sblock("P"):
                    vi = T.axis.spatial(T.int64(8), i)
                    T.reads(W[vi])
                    T.writes(P[T.int64(7) - vi])
                    T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                    P[T.int64(7) - vi] = W[vi]
            for i in range(T.int64(8)):
                with T.sblock("Y"):
                    vi = T.axis.spatial(T.int64(8), i)
                    Y[vi] = W[vi] + P[vi]

    @R.function
    def main(w: R.Tensor((8,), "float32")):
        cls = Module
        a = R.call_tir(cls.f, (w,), R.Tensor((8,), "float32"))
        return a
