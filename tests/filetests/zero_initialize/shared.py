# opt: ZeroInitialize
# A public kernel of symbolic size that also updates a tensor: calls with new memory use a copy of it.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def kernel(x_handle: T.handle, y_handle: T.handle):
        n = T.int64()
        x = T.match_buffer(x_handle, (n,), "float32")
        y = T.match_buffer(y_handle, (n,), "float32")
        for i in range(n):
            if x[i] > T.float32(0):
                y[i] = x[i]
        for i in range(n):
            y[i] = y[i] + T.float32(1)

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Module
        y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((n,), "float32"))
        z = R.call_tir_inplace(cls.kernel, (x, y), inplace_indices=[1], out_ty=R.Tensor((n,), "float32"))
        w = R.call_tir(cls.kernel, (z,), out_ty=R.Tensor((n,), "float32"))
        return (z, w)
