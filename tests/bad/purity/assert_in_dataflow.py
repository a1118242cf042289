# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32"), c: R.Tensor((), dtype="bool")):
        with R.dataflow():
            _ = R.assert_op(c, format="must hold")
            y = R.exp(x)
            R.output(y)
        return y
