# opt: LegalizeOps,FuseRows
# Not fused: 4 MB of weights would be reloaded for every block of rows, and contiguous columns stay vectorized.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 1024), dtype="float32"), w: R.Tensor((1024, 1024), dtype="float32")) -> R.Tensor((64, 1024), dtype="float32"):
        with R.dataflow():
            product = R.matmul(x, w)
            rows = R.nn.softmax(product, axis=-1)
            out = R.nn.softmax(rows, axis=0)
            R.output(out)
        return out
