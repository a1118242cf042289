@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def smooth(var_signal: T.handle, var_smoothed: T.handle):
        n = T.int64()
        signal = T.match_buffer(var_signal, (n,), "float32")
        smoothed = T.match_buffer(var_smoothed, (n,), "float32")
        T.func_attr({"tirx.noalias": True})
        for i in range(n):
            with T.sblock("smooth"):
                v = T.axis.spatial(n, i)
                T.reads(signal[T.max(v - T.int64(1), T.int64(0)):T.min(v + T.int64(2), n)])
                T.writes(smoothed[v])
                smoothed[v] = (signal[T.max(v - T.int64(1), T.int64(0))] + signal[v] + signal[T.min(v + T.int64(1), n - T.int64(1))]) / T.float32(3.0)

    @R.function
    def main(signal: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            once = R.call_tir(cls.smooth, (signal,), out_sinfo=R.Tensor((n,), dtype="float32"))
            twice = R.call_tir(cls.smooth, (once,), out_sinfo=R.Tensor((n,), dtype="float32"))
            R.output(twice)
        return twice
