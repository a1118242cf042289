# opt: FoldConstant
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def forever(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        while A[0] < T.float32(10):
            B[0] = A[0]

    @T.prim_func(private=True, s_tir=True)
    def overwrites(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            A[i] = T.float32(0)
            B[i] = A[i]

    @T.prim_func(private=True, s_tir=True)
    def fails(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
        for i in range(2):
            B[i] = A[i] // (A[i] - A[i])

    @T.prim_func(private=True, s_tir=True)
    def calls(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            B[i] = T.call_extern("float32", "sinf", A[i])

    @R.function
    def main(x: R.Tensor((n, 2), "float32")):
        cls = Module
        # An operator outside a dataflow block.
        outside = R.add(R.const([1, 2], "float32"), R.const([3, 4], "float32"))
        with R.dataflow():
            # Kernels that may not terminate, write their inputs, fail, or call unknown functions.
            a = R.call_tir(cls.forever, (R.const([1, 2], "float32"),), out_ty=R.Tensor((2,), "float32"))
            b = R.call_tir(cls.overwrites, (R.const([1, 2], "float32"),), out_ty=R.Tensor((2,), "float32"))
            c = R.call_tir(cls.fails, (R.const([1, 2], "int32"),), out_ty=R.Tensor((2,), "int32"))
            d = R.call_tir(cls.calls, (R.const([1, 2], "float32"),), out_ty=R.Tensor((2,), "float32"))
            # Large, and cheap to compute.
            e = R.zeros((2048,), "float32")
            f = R.broadcast_to(R.const([1, 2], "float32"), (65536, 2))
            # Values that depend on arguments.
            g = R.multiply(x, R.const([1, 2], "float32"))
            h = R.full((n,), R.const(1, "float32"), "float32")
            R.output(a, b, c, d, e, f, g, h)
        return (outside, a, b, c, d, e, f, g, h)
