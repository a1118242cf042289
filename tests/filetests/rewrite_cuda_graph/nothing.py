# opt: RewriteCUDAGraph,RewriteCUDAGraph{use_cuda_graph=false}
from tvm.script import ir as I
from tvm.script import relax as R, tir as T

@I.ir_module
class Module:
    # The storage holds the result, or has symbolic size.
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), s: R.Shape(["n"])) -> R.Tensor((4,), dtype="float32"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, 0, R.shape([4]), R.dtype("float32"), 0)
        R.call_packed("reduce", x, a, ty_args=(R.Tuple,))
        storage1: R.Any = R.memory.alloc_storage(R.shape([n]), 0, R.str("global"), R.dtype("uint8"))
        b: R.Tensor((n,), dtype="uint8") = R.memory.alloc_tensor(storage1, 0, R.shape([n]), R.dtype("uint8"), 0)
        R.call_packed("fill", a, b, ty_args=(R.Tuple,))
        return a
