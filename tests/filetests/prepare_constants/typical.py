# opt: FoldConstant{max_created=65536},Winograd,LegalizeOps,FoldConstant,PrepareConstants,DeadCodeElimination
# Transformed weights are four times as large as the original ones.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 56, 56, 64), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, R.ones((3, 3, 64, 64), "float32"), padding=1, data_layout="NHWC", kernel_layout="HWIO")
            R.output(a)
        return a
