# A hand-written kernel, called from a graph: moving average over three samples.
# The length n is symbolic: one compiled kernel serves every length.
#
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def smooth(signal: T.Buffer((n,), "float32"), smoothed: T.Buffer((n,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(n):
            with T.sblock("smooth"):
                v = T.axis.spatial(n, i)
                T.reads(signal[T.max(v - T.int64(1), T.int64(0)):T.min(v + T.int64(2), n)])
                T.writes(smoothed[v])
                smoothed[v] = (signal[T.max(v - T.int64(1), T.int64(0))] + signal[v] + signal[T.min(v + T.int64(1), n - T.int64(1))]) / T.float32(3.0)

    @R.function
    def main(signal: R.Tensor((n,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
        cls = Module
        with R.dataflow():
            once = R.call_tir(cls.smooth, (signal,), out_ty=R.Tensor((n,), dtype="float32"))
            twice = R.call_tir(cls.smooth, (once,), out_ty=R.Tensor((n,), dtype="float32"))
            R.output(twice)
        return twice
