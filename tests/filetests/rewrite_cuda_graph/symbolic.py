# opt: RewriteCUDAGraph
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")
k = TypeVar("k")
@I.ir_module
class Module:
    # The weight's size may be used in a graph and is passed to it; the input's size may not.
    @R.function
    def main(x: R.Tensor((k,), dtype="float32"), w: R.Tensor((n,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, 0, R.shape([4]), R.dtype("float32"), 0)
        R.call_packed("reduce", x, a, ty_args=(R.Tuple,))
        storage1: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("float32"))
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage1, 0, R.shape([4]), R.dtype("float32"), 0)
        R.call_packed("mix", a, w, b, ty_args=(R.Tuple,))
        c: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        R.call_packed("mix", b, w, c, ty_args=(R.Tuple,))
        return c
