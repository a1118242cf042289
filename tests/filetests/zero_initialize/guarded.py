# opt: ZeroInitialize
# A kernel with an output that is written under a condition before it is read, and a partially written temporary.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        t = T.sblock_alloc_buffer((8,), "int32")
        for i in range(4):
            with T.sblock("half"):
                vi = T.axis.spatial(4, i)
                t[vi] = 1
        for i in range(8):
            with T.sblock("some"):
                vi = T.axis.spatial(8, i)
                T.where(x[i] > T.float32(0))
                y[vi] = x[vi]
        for i in range(8):
            with T.sblock("more"):
                vi = T.axis.spatial(8, i)
                y[vi] = y[vi] + T.Cast("float32", t[vi])

    @R.function
    def main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((8,), "float32"))
        return y
