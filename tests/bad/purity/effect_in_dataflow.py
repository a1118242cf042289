# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            y = R.call_packed("my.effect", x, ty_args=(R.Any(),))
            R.output(y)
        return y
