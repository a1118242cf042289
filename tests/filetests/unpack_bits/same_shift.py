# plans: unpack-bits
# The shift does not vary along the axis whose elements share a word.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def unpacked(w: T.Buffer((8, 96), "uint32"), y: T.Buffer((64, 96), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(64), T.int64(96)):
            with T.sblock("unpacked"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.Cast("float32", T.bitwise_and(T.shift_right(w[vi // 8, vj], T.Cast("uint32", vj % 8 * 4)), T.uint32(15)))

    @R.function
    def main(w: R.Tensor((8, 96), "uint32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.unpacked, (w,), out_sinfo=R.Tensor((64, 96), "float32"))
            R.output(y)
        return y
