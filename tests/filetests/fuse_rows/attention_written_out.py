# opt: LegalizeOps,FuseRows
# Attention as two matmuls with a softmax between them: one kernel, for any number of queries.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((2, "n", 16), dtype="float32"), k: R.Tensor((2, 16, 24), dtype="float32"), v: R.Tensor((2, 24, 16), dtype="float32"), mask: R.Tensor(("n", 24), dtype="float32")) -> R.Tensor((2, "n", 16), dtype="float32"):
        with R.dataflow():
            dots = R.matmul(q, k)
            scaled = R.multiply(dots, R.const(0.25, "float32"))
            masked = R.add(scaled, mask)
            weights = R.nn.softmax(masked, axis=-1)
            out = R.matmul(weights, v)
            R.output(out)
        return out
