# plans: dot-product
# Consecutive elements of a word are not in the same bits of its bytes, so there are no packed groups.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def grouped(x: T.Buffer((64, 512), "int8"), xs: T.Buffer((64, 16), "float32"), w: T.Buffer((64, 256), "uint32"), s: T.Buffer((16, 256), "float32"), y: T.Buffer((64, 256), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j, k in T.grid(T.int64(64), T.int64(256), T.int64(512)):
            with T.sblock("grouped"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = T.float32(0)
                y[vi, vj] = y[vi, vj] + T.Cast("float32", T.Cast("int32", x[vi, vk]) * (T.Cast("int32", T.Cast("uint8", T.bitwise_and(T.shift_right(w[vk // 8, vj], T.Cast("uint32", vk % 8 * 4)), T.uint32(15)))) - 8)) * (xs[vi, vk // 32] * s[vk // 32, vj])

    @R.function
    def main(x: R.Tensor((64, 512), "int8"), xs: R.Tensor((64, 16), "float32"), w: R.Tensor((64, 256), "uint32"), s: R.Tensor((16, 256), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.grouped, (x, xs, w, s), out_sinfo=R.Tensor((64, 256), "float32"))
            R.output(y)
        return y
