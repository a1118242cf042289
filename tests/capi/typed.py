# Functions whose header has all forms of arguments and results: `tests/capi/typed.c` calls them.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), int: R.Tensor(("n + 1",), "int64"), k: R.Prim("float64")):
        twice = R.add(x, x)
        total = R.sum(int)
        shape = R.shape_of(x)
        return (twice, total, shape, k)

    @R.function
    def nothing(any: R.Object):
        return any
