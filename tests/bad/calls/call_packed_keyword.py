# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")):
        y = R.call_packed("f", x, ty_arg=(R.Any(),))
        return y
