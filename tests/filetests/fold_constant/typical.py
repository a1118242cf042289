# opt: FoldConstant
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def halves(A: T.Buffer((4, 2), "float32"), B: T.Buffer((2, 2), "float32"), C: T.Buffer((2, 2), "float32")):
        for i, j in T.grid(2, 2):
            with T.sblock("upper"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        for i, j in T.grid(2, 2):
            with T.sblock("lower"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi + 2, vj]

    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        cls = Module
        with R.dataflow():
            w = R.const([[1, 2], [3, 4], [5, 6], [7, 8]], "float32")
            parts = R.call_tir(cls.halves, (w,), out_ty=[R.Tensor((2, 2), "float32"), R.Tensor((2, 2), "float32")])
            upper = parts[0]
            lower = parts[1]
            both = R.concat((upper, R.multiply(lower, R.const(10.0, "float32"))), axis=1)
            exact = R.astype(both, "float64")
            scaled = R.divide(exact, R.const(2.0, "float64"))
            back = R.astype(scaled, "float32")
            unused = R.exp(x)
            y = R.add(x, back)
            z = R.matmul(y, R.permute_dims(back))
            R.output(z)
        return z

    @R.function
    def outside(x: R.Tensor((2, 2), "float32")):
        cls = Module
        parts = R.call_tir(cls.halves, (R.const([[1, 2], [3, 4], [5, 6], [7, 8]], "float32"),), out_ty=[R.Tensor((2, 2), "float32"), R.Tensor((2, 2), "float32")])
        y = R.add(x, parts[1])
        return (y, parts)
