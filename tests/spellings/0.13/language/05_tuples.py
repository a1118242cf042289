from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(pair: R.Tuple(R.Tensor((2,), dtype="float32"), R.Prim("int64"))):
        x = pair[0]
        k = pair[1]
        word = R.str("seven")
        y = R.add(x, x)
        return (y, (k, word))
