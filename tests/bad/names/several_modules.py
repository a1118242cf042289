# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Encoder:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        return x

@I.ir_module
class Decoder:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        return x

