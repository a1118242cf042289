# opt: Normalize,ToNonDataflow
# Branches end in dataflow blocks: with the value itself, and with an alias of a value local to the block.
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        if c:
            with R.dataflow():
                a = R.add(x, x)
                y = R.multiply(a, x)
                R.output(a, y)
        else:
            with R.dataflow():
                b = R.exp(x)
                y = b
                R.output(y)
        return y
