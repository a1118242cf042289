# plans: outer-product
# A group of 32 elements shares a scale, which multiplies their sum. The matrix has eight elements in a word.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def grouped(x_: T.handle, w: T.Buffer((64, 4096), "uint32"), s: T.Buffer((16, 4096), "float32"), y_: T.handle):
        T.func_attr({"tirx.noalias": True})
        x = T.match_buffer(x_, (1, 512), "float32")
        y = T.match_buffer(y_, (1, 4096), "float32")
        for i, j, k in T.grid(T.int64(1), T.int64(4096), T.int64(512)):
            with T.sblock("grouped"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = T.float32(0)
                y[vi, vj] = y[vi, vj] + x[vi, vk] * (T.Cast("float32", T.bitwise_and(T.shift_right(w[vk // 8, vj], T.Cast("uint32", vk % 8 * 4)), T.uint32(15))) * s[vk // 32, vj])

    @R.function
    def main(x: R.Tensor((1, 512), "float32"), w: R.Tensor((64, 4096), "uint32"), s: R.Tensor((16, 4096), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.grouped, (x, w, s), out_sinfo=R.Tensor((1, 4096), "float32"))
            R.output(y)
        return y
