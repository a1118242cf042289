# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), c: R.Tensor((), dtype="bool")):
        if c:
            with R.dataflow():
                y = R.exp(x)
                z = R.exp(y)
                R.output(y)
        else:
            y = x
        return y
