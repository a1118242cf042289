# opt: LegalizeOps,FuseOps,FuseRows
# A residual sum, its normalization, and a scaling of the result.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor((4, 8), dtype="float32"), gamma: R.Tensor((8,), dtype="float32"), beta: R.Tensor((8,), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            sum = R.add(x, y)
            normal = R.nn.layer_norm(sum, gamma, beta, axes=[-1])
            out = R.nn.gelu(normal)
            R.output(out)
        return out
