# opt: LegalizeOps,ConvertToDataflow,AnnotateTIROpPattern,FuseOps
# The dataflow blocks of branches are fused like any other.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), positive: R.Tensor((), dtype="bool")) -> R.Tensor((4, 8), dtype="float32"):
        before = R.exp(x)
        shifted = R.add(before, x)
        if positive:
            root = R.sqrt(shifted)
            scaled = R.multiply(root, x)
            y = R.add(scaled, before)
        else:
            y = R.negative(shifted)
        return y
