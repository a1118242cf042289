# opt: LegalizeOps,FuseOps,FuseTIR,FuseRows
# A matmul, reshaped to one more dimension, absorbs the residual sum.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 1024), dtype="float32"), w: R.Tensor((1024, 1024), dtype="float32"), y: R.Tensor((1, 64, 1024), dtype="float32")) -> R.Tensor((1, 64, 1024), dtype="float32"):
        with R.dataflow():
            product = R.matmul(x, w)
            seen = R.reshape(product, R.shape([1, 64, 1024]))
            out = R.add(seen, y)
            R.output(out)
        return out
