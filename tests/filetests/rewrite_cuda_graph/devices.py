# opt: gpu PlaceKernels,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory{scope="function",arena=true},RewriteCUDAGraph{updated=true}
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

    # Graphs have the kernels of the first device only, and no copies.
    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0"), y: R.Tensor((2,), "float32", "cuda:0")):
        cls = Module
        a = R.call_tir(cls.double, (y,), R.Tensor((2,), "float32", "cuda:0"))
        b = R.call_tir(cls.double, (a,), R.Tensor((2,), "float32", "cuda:0"))
        c = R.call_tir(cls.double, (x,), R.Tensor((2,), "float32", "llvm:0"))
        d = R.call_tir(cls.double, (c,), R.Tensor((2,), "float32", "llvm:0"))
        e = R.to_vdevice(b, "cuda:1")
        f = R.call_tir(cls.double, (e,), R.Tensor((2,), "float32", "cuda:1"))
        g = R.call_tir(cls.double, (f,), R.Tensor((2,), "float32", "cuda:1"))
        return (b, d, g)
