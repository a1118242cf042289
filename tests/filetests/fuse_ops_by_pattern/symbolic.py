# opt: FuseOpsByPattern{patterns=[["blas.scaled", "R.multiply(R.matmul(_, _), is_const())"], ["blas.reshape", "R.reshape(_, ...)"]],annotate_codegen=true}
# Sizes that parameters do not define are passed in addition.
n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), "float32"), w: R.Tensor((4, m), "float32")):
        with R.dataflow():
            product = R.matmul(x, w)
            scaled = R.multiply(R.const(0.5, "float32"), product)
            flat = R.reshape(scaled, R.shape([n * m]))
            R.output(flat)
        return flat
