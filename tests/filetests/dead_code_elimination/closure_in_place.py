# opt: LambdaLift,DeadCodeElimination
# A closure overwrites the tensor that it captures, which belongs to the caller: calls of it stay, though nothing uses them.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increment(x: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("increment"):
                vi = T.axis.spatial(4, i)
                x[vi] = x[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        @R.function
        def step(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            b = R.call_tir_inplace(Module.increment, (x,), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0])
            return R.add(a, b)
        c = step(y)
        d = step(c)
        return y
