# opt: SplitLayoutRewritePreproc
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(x: T.handle, W: T.Buffer((T.int64(8), T.int64(8)), "float32"), V: T.Buffer((T.int64(8), T.int64(8)), "float32"), y: T.handle):
        T.func_attr({"layout_free_buffers": [1, 2]})
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(8)))
        Y = T.match_buffer(y, (n, T.int64(8)))
        with T.sblock("root"):
            P = T.sblock_alloc_buffer((T.int64(2), T.int64(8), T.int64(4)))
            Q = T.sblock_alloc_buffer((T.int64(8), T.int64(8)))
            S = T.sblock_alloc_buffer((n, T.int64(8)))
            for i, j in T.grid(T.int64(8), T.int64(8)):
                with T.sblock("P"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(W[vi, vj])
                    T.writes(P[vj // T.int64(4), vi, vj % T.int64(4)])
                    T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                    P[vj // T.int64(4), vi, vj % T.int64(4)] = W[vi, vj]
            for i, j in T.grid(T.int64(8), T.int64(8)):
                with T.sblock("Q"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(V[vi, vj])
                    T.writes(Q[vj, vi])
                    T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                    Q[vj, vi] = V[vi, vj]
            for i, j in T.grid(n, T.int64(8)):
                with T.sblock("S"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    S[vi, vj] = X[vi, vj] * P[vj // T.int64(4), vi % T.int64(8), vj % T.int64(4)]
            for i, j in T.grid(n, T.int64(8)):
                with T.sblock("Y"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Y[vi, vj] = S[vi, vj] + Q[vj, vi % T.int64(8)]

    # Two weights are packed; the number of rows is symbolic, and used only by the compute kernel.
    @R.function
    def main(x: R.Tensor((n, 8), "float32"), w: R.Tensor((8, 8), "float32"), v: R.Tensor((8, 8), "float32")):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.f, (x, w, v), R.Tensor((n, 8), "float32"))
            b = R.call_tir(cls.f, (a, v, w), R.Tensor((n, 8), "float32"))
            R.output(b)
        return b
