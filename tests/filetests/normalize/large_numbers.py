# opt: Normalize
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # A number beyond int64 is unsigned, and is printed as such.
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")):
        a = R.call_packed("f", 9223372036854775808, x, ty_args=(R.Tensor((4,), dtype="float32"),))
        b = R.call_packed("f", -9223372036854775808, x, ty_args=(R.Tensor((4,), dtype="float32"),))
        return (a, b)
