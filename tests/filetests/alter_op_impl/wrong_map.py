# opt: AlterOpImpl{op_impl_map={"relax.add":"add"},op_buffer_transforms={"relax.add":["i % 4"]},file="tests/filetests/alter_op_impl/kernels/blocked.py"}
# Not an index map.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32"), c: T.Buffer((16,), "float32")):
        T.func_attr({"operator_name": "relax.add"})
        for i in range(16):
            with T.sblock("add"):
                vi = T.axis.spatial(16, i)
                c[vi] = a[vi] + b[vi]

    @R.function
    def main(x: R.Tensor((16,), "float32"), y: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.add, (x, y), out_ty=R.Tensor((16,), "float32"))
            lv1 = R.nn.relu(lv)
            gv = R.call_tir(cls.add, (lv, lv1), out_ty=R.Tensor((16,), "float32"))
            R.output(gv)
        return gv
