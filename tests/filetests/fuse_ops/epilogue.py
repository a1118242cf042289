# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
# A contraction absorbs bias and activation, and an elementwise input of the sum; the two matmuls are not fused.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 4), "float32"), b: R.Tensor((4,), "float32"), v: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            h = R.nn.relu(R.add(R.matmul(x, w), b))
            o = R.add(R.matmul(h, v), R.exp(h))
            R.output(o)
        return o
