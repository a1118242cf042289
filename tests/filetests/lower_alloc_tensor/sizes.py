# opt: LowerAllocTensor
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((n, 4), dtype="float16")):
        a: R.Tensor((n, 4), dtype="float16") = R.builtin.alloc_tensor(R.shape([n, 4]), R.dtype("float16"), 0, R.str("global"))
        b: R.Tensor((3, 5), dtype="float64") = R.builtin.alloc_tensor(R.shape([3, 5]), R.dtype("float64"), 0, R.str("global"))
        return (a, b)
