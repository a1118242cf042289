# opt: tirx.ForceNarrowIndexToInt32
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fill(n: T.int64, b: T.handle):
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = T.float32(1)

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        return R.call_tir(Module.fill, (R.prim_value(n),), out_ty=R.Tensor((n,), "float32"))
