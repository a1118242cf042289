# plans: periodic-select
# A comparison other than equality is computed for each element.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def signs(x: T.Buffer((96,), "float32"), y: T.Buffer((4, 96), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(4), T.int64(96)):
            with T.sblock("signs"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.Select(vi < 2, x[vj], T.float32(0) - x[vj])

    @R.function
    def main(x: R.Tensor((96,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.signs, (x,), out_sinfo=R.Tensor((4, 96), "float32"))
            R.output(y)
        return y
