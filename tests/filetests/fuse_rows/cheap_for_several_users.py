# opt: LegalizeOps,FuseRows
# A vector is broadcast to the tensor for two independent users: each recomputes it.
# from tvm.script import ir as I
# from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(b: R.Tensor((64,), dtype="float32"), x: R.Tensor((32, 64), dtype="float32"), y: R.Tensor((32, 64), dtype="float32")) -> R.Tuple(R.Tensor((32,), dtype="float32"), R.Tensor((32, 64), dtype="float32")):
        with R.dataflow():
            wide = R.broadcast_to(b, R.shape([32, 64]))
            first = R.multiply(x, wide)
            sums = R.sum(first, axis=[1])
            second = R.add(y, wide)
            other = R.nn.softmax(second, axis=-1)
            R.output(sums, other)
        return (sums, other)
