# opt: VMShapeLower
# Tuple fields are checked like parameters, for symbolic and constant sizes.
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tuple(R.Tensor((2, 8), "float32"), R.Tuple(R.Tensor(ndim=1, dtype="int64"), R.Shape([4])))) -> R.Any:
        R.func_attr({"relax.force_pure": True})
        return x

    @R.function(pure=False)
    def symbolic(x: R.Tuple(R.Tensor((2, n), "float32"), R.Tensor((n,), "float32"))) -> R.Any:
        R.func_attr({"relax.force_pure": True})
        return x

    @R.function(pure=False)
    def ranks(x: R.Tuple(R.Tensor(ndim=2, dtype="float32"), R.Any)) -> R.Any:
        R.func_attr({"relax.force_pure": True})
        return x
