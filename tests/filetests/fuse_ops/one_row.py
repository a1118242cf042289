# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
# A matmul with one row absorbs its bias: equal sizes do not broadcast, even if they are 1.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 16), "float32"), w: R.Tensor((16, 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            h = R.nn.relu(R.add(b, R.matmul(x, w)))
            R.output(h)
        return h
