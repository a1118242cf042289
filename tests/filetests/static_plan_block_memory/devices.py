# opt: gpu RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory{scope="function",arena=true}
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("b"):
                v = T.axis.spatial(2, i)
                B[v] = A[v] * T.float32(2)

    # Each device has a block of its own.
    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0"), y: R.Tensor((2,), "float32", "cuda:1")):
        cls = Module
        a = R.call_tir(cls.double, (x,), R.Tensor((2,), "float32", "llvm:0"))
        b = R.call_tir(cls.double, (y,), R.Tensor((2,), "float32", "cuda:1"))
        c = R.call_tir(cls.double, (a,), R.Tensor((2,), "float32", "llvm:0"))
        d = R.call_tir(cls.double, (b,), R.Tensor((2,), "float32", "cuda:1"))
        e = R.call_tir(cls.double, (c,), R.Tensor((2,), "float32", "llvm:0"))
        f = R.call_tir(cls.double, (d,), R.Tensor((2,), "float32", "cuda:1"))
        return (e, f)
