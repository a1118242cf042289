# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
# What a closure captures leaves its group, and the closure is bound before its calls, although a group runs between them.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add_to(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("a"):
                v = T.axis.spatial(4, i)
                a[v] = a[v] + b[v]

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            w = R.ones(R.shape([4]), "float32")
            p = R.exp(x)
            q = R.tanh(R.negative(p))

            @R.function
            def shift(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                return R.add(a, p)

            c = shift(y)
            d = R.call_tir_inplace(cls.add_to, (c, w), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0])
            s = R.matmul(q, d)
            R.output(s)
        return s
