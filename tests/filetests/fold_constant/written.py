# opt: FoldConstant
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

# `a` is written: it stays a separate tensor.
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increment(A: T.Buffer((2,), "float32")):
        for i in range(2):
            A[i] = A[i] + T.float32(1)

    @R.function
    def written():
        cls = Module
        with R.dataflow():
            never = R.multiply(R.const(3.0, "float32"), R.const(4.0, "float32"))
            a = R.multiply(R.const([1, 2], "float32"), never)
            b = R.call_tir_inplace(cls.increment, (a,), inplace_indices=[0], out_ty=R.Tensor((2,), "float32"))
            R.output(b)
        return b
