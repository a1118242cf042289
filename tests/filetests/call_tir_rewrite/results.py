# opt: ToNonDataflow,RemovePurityChecking,CallTIRRewrite
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(a: T.Buffer((n,), "float32"), b: T.Buffer((n,), "float32")):
        for i in range(n):
            with T.sblock("twice"):
                v = T.axis.spatial(n, i)
                T.reads(a[v])
                T.writes(b[v])
                b[v] = a[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((n,), dtype="float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((n,), dtype="float32"))
            b = R.call_dps_packed("two_results", (a,), out_ty=[R.Tensor((n,), dtype="float32"), R.Tensor((4,), dtype="int32")])
            c = b[0]
            R.output(c)
        return c
