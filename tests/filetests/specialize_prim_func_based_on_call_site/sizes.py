# opt: SpecializePrimFuncBasedOnCallSite
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(a: T.handle, b: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k, 4), "float32")
        B = T.match_buffer(b, (k * 2, 4), "float32")
        for i, j in T.grid(k * 2, 4):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi % k, vj]

    @T.prim_func(private=True, s_tir=True)
    def both(a: T.handle, b: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k, 4), "float32")
        B = T.match_buffer(b, (k * 2, 4), "float32")
        for i, j in T.grid(k * 2, 4):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi % k, vj]

    @R.function
    def main(x: R.Tensor((3, 4), "float32"), y: R.Tensor((5, 4), "float32")):
        with R.dataflow():
            a = R.call_tir(Module.twice, (x,), out_ty=R.Tensor((6, 4), "float32"))
            b = R.call_tir(Module.both, (x,), out_ty=R.Tensor((6, 4), "float32"))
            c = R.call_tir(Module.both, (y,), out_ty=R.Tensor((10, 4), "float32"))
            R.output(a, b, c)
        return (a, b, c)
