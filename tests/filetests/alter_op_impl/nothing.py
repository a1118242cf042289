# opt: AlterOpImpl{op_impl_map={"relax.add":"add"},file="tests/filetests/alter_op_impl/kernels/blocked.py"}
# The kernel belongs to no operator, or to another one.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(a: T.Buffer((4,), "float32"), c: T.Buffer((4,), "float32")):
        T.func_attr({"operator_name": "relax.multiply"})
        for i in range(4):
            with T.sblock("twice"):
                vi = T.axis.spatial(4, i)
                c[vi] = a[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_tir(Module.twice, (x,), out_ty=R.Tensor((4,), "float32"))
        return y
