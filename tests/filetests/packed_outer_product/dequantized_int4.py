# plans: packed-outer-product
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(x: T.handle, w: T.handle, s: T.handle, y: T.handle):
        T.func_attr({"tirx.noalias": True})
        X = T.match_buffer(x, (16, 512), "float32")
        W = T.match_buffer(w, (256, 1024), "uint8")
        S = T.match_buffer(s, (16, 1024), "float32")
        Y = T.match_buffer(y, (16, 1024), "float32")
        D = T.sblock_alloc_buffer((512, 1024), "float32")
        for k, j in T.grid(512, 1024):
            with T.sblock("dequantize"):
                vk, vj = T.axis.remap("SS", [k, j])
                D[vk, vj] = T.Cast("float32", T.shift_right(T.shift_left(T.Cast("int32", W[vk // 2, vj]), 28 - T.Cast("int32", vk % 2 * 4)), 28)) * S[vk // 32, vj]
        for i, j, k in T.grid(16, 1024, 512):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * D[vk, vj]
