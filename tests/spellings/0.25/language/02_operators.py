from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2,), dtype="float32")):
        scaled = x + y * 2.0
        rows = R.sum(x, axis=[1], keepdims=False)
        halves = (-x).astype("float16")
        return (scaled, rows, halves)
