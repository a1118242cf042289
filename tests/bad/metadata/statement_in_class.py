# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    for i in range(3):
        pass
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        return x
