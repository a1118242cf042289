# opt: VMShapeLower
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

# Values used in only one branch are computed there; those used in both, before.


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", "m"), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Object:
        n = T.int64()
        m = T.int64()
        if c:
            a: R.Object = R.shape([n // (m - 2), n + 1])
            if c:
                d: R.Object = R.shape([n * n])
            else:
                d: R.Object = a
            y: R.Object = (a, d)
        else:
            y: R.Object = R.shape([n + 1])
        z: R.Object = R.shape([n * 2])
        return (y, z)
