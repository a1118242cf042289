# opt: SplitLayoutRewritePreproc
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Nothing is marked.
    @T.prim_func(private=True, s_tir=True)
    def f(W: T.Buffer((T.int64(8),), "float32"), Y: T.Buffer((T.int64(8),), "float32")):
        for i in range(T.int64(8)):
            with T.sblock("Y"):
                vi = T.axis.spatial(T.int64(8), i)
                Y[vi] = W[vi] + T.float32(1)

    @R.function
    def main(w: R.Tensor((8,), "float32")):
        cls = Module
        a = R.call_tir(cls.f, (w,), R.Tensor((8,), "float32"))
        return a
