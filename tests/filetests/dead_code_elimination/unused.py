# opt: DeadCodeElimination
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def unused(a: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("zero"):
                v = T.axis.spatial(T.int64(4), i)
                a[v] = T.float32(0)

    @R.function(private=True)
    def unused_too(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        return x

    # The unused sum goes; the print and the cast, which may fail, stay.
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor(ndim=1, dtype="float32")):
        a = R.add(x, x)
        b = R.exp(a)
        R.print(x, format="{}")
        c = R.match_cast(y, R.Tensor((n,), dtype="float32"))
        return x
