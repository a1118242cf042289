from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def statistics(var_x: T.handle, count: T.int64, var_mean: T.handle, var_spread: T.handle):
        n = T.int64()
        x = T.match_buffer(var_x, (n, T.int64(2)), "float32")
        mean = T.match_buffer(var_mean, (n,), "float32")
        spread = T.match_buffer(var_spread, (n,), "float32")
        T.func_attr({"tirx.noalias": True})
        total = T.sblock_alloc_buffer((n,), "float32")
        top = T.sblock_alloc_buffer((n,), "float32")
        for i, k in T.grid(n, T.int64(2)):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                    top[vi] = T.min_value("float32")
                total[vi] = total[vi] + x[vi, vk]
                top[vi] = T.max(top[vi], x[vi, vk])
        for i in range(n):
            with T.sblock("result"):
                vi = T.axis.spatial(n, i)
                mean[vi] = total[vi] / T.Cast("float32", count)
                spread[vi] = top[vi] - total[vi] / T.Cast("float32", count)

    @R.function
    def main(x: R.Tensor(("n", 2), dtype="float32"), count: R.Prim("int64")):
        n = T.int64()
        cls = Module
        both = R.call_tir(cls.statistics, (x, count), out_sinfo=[R.Tensor((n,), dtype="float32"), R.Tensor((n,), dtype="float32")])
        return both
