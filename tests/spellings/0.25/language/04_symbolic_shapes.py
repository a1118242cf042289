from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), dtype="float32")) -> R.Tensor(("n * 2",), dtype="float32"):
        n = T.int64()
        flat = R.reshape(x, R.shape([n * 2]))
        return flat

    @R.function
    def count(x: R.Tensor(("n",), dtype="int64")) -> R.Prim("int64"):
        n = T.int64()
        m = T.int64()
        found = R.nonzero(x)
        places = R.match_cast(found, R.Tensor((1, m), dtype="int64"))
        return m
