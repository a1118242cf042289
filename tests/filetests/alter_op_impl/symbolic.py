# opt: AlterOpImpl{op_impl_map={"relax.nn.relu":"relu"},op_buffer_transforms={"relax.nn.relu":["lambda i: (i // 4, i % 4)","lambda i: (i // 4, i % 4)"]},file="tests/filetests/alter_op_impl/kernels/blocked.py"},DeadCodeElimination
# The last block is padded; a kernel removes the padding.
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def relu(a: T.handle, c: T.handle):
        T.func_attr({"operator_name": "relax.nn.relu"})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            with T.sblock("relu"):
                vi = T.axis.spatial(n, i)
                C[vi] = T.max(A[vi], T.float32(0))

    @R.function
    def main(x: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        cls = Module
        y = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((n,), "float32"))
        z = R.call_tir(cls.relu, (y,), out_ty=R.Tensor((n,), "float32"))
        return z
