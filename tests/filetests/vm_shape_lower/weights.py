# opt: VMShapeLower
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8), "float32"), w: R.Tensor((8, 8), "float32"), k: R.Tensor((n,), "float32"), t: R.Tuple(R.Tensor((8,), "float32"), R.Tensor((n, n), "float32"))):
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        return x
