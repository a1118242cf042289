# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
# A size that occurs only in an operand is bound before the group that uses the operand.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "int64"), depth: R.Tensor((1,), "int64")):
        s = T.int64()
        with R.dataflow():
            negative: R.Tensor((2, 2), "bool") = R.less(x, R.const(0, "int64"))
            shape: R.Shape(ndim=1) = R.tensor_to_shape(depth)
            known: R.Shape([s]) = R.match_cast(shape, R.Shape([s]))
            size: R.Tensor((1,), "int64") = R.shape_to_tensor(R.shape([s]))
            raised: R.Tensor((2, 2), "int64") = R.add(x, size)
            chosen: R.Tensor((2, 2), "int64") = R.where(negative, raised, x)
            places: R.Tensor((s,), "int64") = R.arange(0, s, 1, dtype="int64")
            hot: R.Tensor((2, 2, s), "bool") = R.equal(R.expand_dims(chosen, [2]), places)
            R.output(hot)
        return hot
