# opt: KillAfterLastUse
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Tensors before storages; values that are killed already, and constants, are not killed.
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("uint8"))
        y: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, 0, R.shape([4]), R.dtype("float32"), 0)
        R.call_packed("use", storage, y, ty_args=(R.Tuple,))
        one: R.Tensor((), dtype="float32") = R.const(1.0, "float32")
        z: R.Tensor((4,), dtype="float32") = R.add(x, one)
        w: R.Tensor((4,), dtype="float32") = R.exp(z)
        R.memory.kill_tensor(z)
        return w
