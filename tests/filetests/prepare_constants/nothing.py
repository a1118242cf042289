# opt: LegalizeOps,FoldConstant,PrepareConstants,DeadCodeElimination
# Small constants are stored directly.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 64), "float32")):
        with R.dataflow():
            a = R.add(x, R.broadcast_to(R.const([[1], [2], [3], [4]], "float32"), (4, 64)))
            R.output(a)
        return a
