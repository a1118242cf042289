# opt: FuseOpsByPattern{patterns="tests/filetests/fuse_ops_by_pattern/same_shape.patterns"}
# Sums without broadcasting; sizes that may differ do not match.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4,), "float32"), z: R.Tensor(("m", 4), "float32")):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            e = R.exp(x)
            same = R.add(e, R.exp(e))
            wide = R.add(R.exp(e), R.exp(y))
            w = R.tanh(z)
            unknown = R.subtract(R.exp(e), R.exp(w))
            R.output(same, wide, unknown)
        return (same, wide, unknown)
