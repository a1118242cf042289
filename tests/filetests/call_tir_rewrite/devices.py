# opt: gpu RemovePurityChecking,CallTIRRewrite
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for i in range(n):
            with T.sblock("b"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] * T.float32(2)

    # The host is device -1.
    @R.function
    def main(x: R.Tensor((n,), "float32", "llvm:0"), y: R.Tensor((n,), "float32"), z: R.Tensor((n,), "float32", "cuda:1")):
        cls = Module
        a = R.call_tir(cls.double, (x,), R.Tensor((n,), "float32", "llvm:0"))
        b = R.call_tir(cls.double, (y,), R.Tensor((n,), "float32"))
        c = R.call_tir(cls.double, (z,), R.Tensor((n,), "float32", "cuda:1"))
        return (a, b, c)
