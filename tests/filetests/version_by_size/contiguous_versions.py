# stages: version-by-size
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def select(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        x = T.match_buffer(a, (n, 16), "float32")
        y = T.match_buffer(b, (n, 16), "float32")
        z = T.match_buffer(c, (n, 16), "float32")
        for i, j in T.grid(n, 16):
            with T.sblock("select"):
                vi, vj = T.axis.remap("SS", [i, j])
                z[vi, vj] = T.if_then_else(n > 4, x[vi, vj], y[vi, vj])

    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), y: R.Tensor(("n", 16), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            z = R.call_tir(cls.select, (x, y), out_sinfo=R.Tensor((n, 16), "float32"))
            R.output(z)
        return z
