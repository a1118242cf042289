# plans: periodic-select
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def signs(x_: T.handle, y_: T.handle):
        n = T.int64()
        x = T.match_buffer(x_, (n,), "float32")
        y = T.match_buffer(y_, (4, n), "float32")
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(4), n):
            with T.sblock("signs"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.Select(vi == 0, x[vj], T.float32(0) - x[vj])

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.signs, (x,), out_sinfo=R.Tensor((4, n), "float32"))
            R.output(y)
        return y
