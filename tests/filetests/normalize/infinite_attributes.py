# opt: Normalize
# Non-finite numbers stay numbers: quoted, they would be strings.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"greatest": float("inf"), "least": float("-inf"), "name": "inf", "none": float("nan")})
        return x
