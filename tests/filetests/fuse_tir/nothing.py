# opt: FuseTIR
# No function is a fusion group.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            R.output(a)
        return a
