from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class Module:
    # The number of steps of n/2 or 3n+1 until 1 is reached.
    @T.prim_func(private=True, s_tir=True)
    def collatz(var_start: T.handle, var_steps: T.handle):
        n = T.int64()
        start = T.match_buffer(var_start, (n,), "int64")
        steps = T.match_buffer(var_steps, (n,), "int64")
        for i in range(n):
            with T.sblock("collatz"):
                vi = T.axis.spatial(n, i)
                value: T.int64 = start[vi]
                count: T.int64 = T.int64(0)
                while value > T.int64(1):
                    odd: T.let[T.bool] = (value & T.int64(1)) == T.int64(1)
                    value = T.Select(odd, value * T.int64(3) + T.int64(1), value >> T.int64(1))
                    count = count + T.int64(1)
                steps[vi] = count

    @R.function
    def main(x: R.Tensor(("n",), dtype="int64")) -> R.Tensor(("n",), dtype="int64"):
        n = T.int64()
        cls = Module
        steps = R.call_tir(cls.collatz, (x,), out_sinfo=R.Tensor((n,), dtype="int64"))
        return steps
