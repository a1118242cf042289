# plans: outer-product
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(x: T.handle, w: T.handle, y: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        X = T.match_buffer(x, (n, 4096), "float32")
        W = T.match_buffer(w, (16, 4096, 64), "float32")
        Y = T.match_buffer(y, (n, 1024), "float32")
        for i, j, k in T.grid(n, 1024, 4096):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj // 64, vk, vj % 64]
