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
    def symbolic(a: T.handle, b: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k, 4), "float32")
        B = T.match_buffer(b, (k * 2, 4), "float32")
        for i, j in T.grid(k * 2, 4):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi % k, vj]

    @R.function
    def main(x: R.Tensor((n, 4), "float32")):
        a = R.call_tir(Module.symbolic, (x,), out_ty=R.Tensor((n * 2, 4), "float32"))
        return a
