# opt: RemovePurityChecking
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        a = R.call_pure_packed("vm.builtin.copy", x, ty_args=(R.Tensor((4,), dtype="float32"),))
        return a

    @R.function(pure=False)
    def impure(x: R.Tensor((4,), dtype="float32")):
        R.print(x, format="{}")
        return x
