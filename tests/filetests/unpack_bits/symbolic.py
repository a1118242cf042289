# plans: unpack-bits
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def unpacked(w_: T.handle, y_: T.handle):
        n = T.int64()
        w = T.match_buffer(w_, (8, n), "uint32")
        y = T.match_buffer(y_, (64, n), "float32")
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(64), n):
            with T.sblock("unpacked"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.Cast("float32", T.bitwise_and(T.shift_right(w[vi // 8, vj], T.Cast("uint32", vi % 4 * 8 + vi % 8 // 4 * 4)), T.uint32(15)))

    @R.function
    def main(w: R.Tensor((8, "n"), "uint32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.unpacked, (w,), out_sinfo=R.Tensor((64, n), "float32"))
            R.output(y)
        return y
