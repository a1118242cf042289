# opt: AdjustMatmulOrder
n = TypeVar("n")
r = TypeVar("r")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 64), "float32"), a: R.Tensor((64, r), "float32"), b: R.Tensor((r, 64), "float32"), v: R.Tensor((64,), "float32"), m: R.Tensor((64, 2, 64), "float32")):
        with R.dataflow():
            ab = R.matmul(a, b)
            undecided = R.matmul(x, ab)
            shared = R.matmul(a, b)
            y = R.matmul(v, shared)
            vm = R.matmul(v, R.permute_dims(m, axes=[0, 2, 1]))
            batches = R.matmul(vm, R.permute_dims(vm))
            out = (undecided, y, shared, batches)
            R.output(out)
        return out
