# opt: FuseOpsByPattern{patterns="tests/filetests/fuse_ops_by_pattern/used_by.patterns"}
# The user of a value joins its group; a value with several users is not fused.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.subtract(y, a)
            c = R.exp(y)
            d = R.subtract(c, y)
            s = R.sqrt(x)
            t = R.negative(s)
            u = R.sqrt(y)
            v = R.negative(u)
            w = R.abs(u)
            R.output(b, d, t, v, w)
        return (b, d, t, v, w)
