# opt: VMShapeLower
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")
@I.ir_module
class Module:
    # n is stored by x, checked by y, computed with for z; m comes from the cast.
    @R.function(pure=False)
    def main(x: R.Tensor((n, 8), dtype="float32"), y: R.Tensor((n,), dtype="float32"), z: R.Tensor(("n * 2",), dtype="float32"), u: R.Tensor(ndim=1, dtype="float32")) -> R.Shape(["n", 4]):
        R.func_attr({"relax.force_pure": True})
        c: R.Tensor((m,), dtype="float32") = R.match_cast(u, R.Tensor((m,), dtype="float32"))
        s: R.Shape([n + m, 4]) = R.shape([n + m, 4])
        t: R.Shape([n, 4]) = R.shape([n, 4])
        return t

    @R.function(pure=False)
    def fixed(x: R.Tensor((2, 8), dtype="float32")) -> R.Tensor((2, 8), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        return x
