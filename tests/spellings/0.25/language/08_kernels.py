from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def transpose(var_A: T.handle, var_B: T.handle):
        m = T.int64()
        n = T.int64()
        A = T.match_buffer(var_A, (m, n), "float32")
        B = T.match_buffer(var_B, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    @R.function
    def main(x: R.Tensor(("m", "n"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        m = T.int64()
        n = T.int64()
        cls = Module
        y = R.call_tir(cls.transpose, (x,), out_sinfo=R.Tensor((n, m), dtype="float32"))
        return y
