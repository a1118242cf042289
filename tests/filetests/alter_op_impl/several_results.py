# opt: AlterOpImpl{op_impl_map={"both":"turned"},op_buffer_transforms={"both":["lambda i, j: (j, i)",null,null,"lambda i, j: (j, i)",null]}}
# A scalar, and a result without a layout change. The replacement is a kernel of the module.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def plain(a: T.Buffer((2, 3), "float32"), b: T.Buffer((2, 3), "float32"), k: T.float32, c: T.Buffer((2, 3), "float32"), d: T.Buffer((2, 3), "float32")):
        T.func_attr({"operator_name": "both"})
        for i, j in T.grid(2, 3):
            with T.sblock("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] * k
                d[vi, vj] = a[vi, vj] - b[vi, vj]

    @T.prim_func(s_tir=True)
    def turned(a: T.Buffer((3, 2), "float32"), b: T.Buffer((2, 3), "float32"), k: T.float32, c: T.Buffer((3, 2), "float32"), d: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vj, vi] = a[vj, vi] * k
                d[vi, vj] = a[vj, vi] - b[vi, vj]

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.plain, (x, y, T.float32(2)), out_ty=[R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")])
            R.output(gv)
        return gv
