# opt: LegalizeOps
# Dimensions common to both shapes keep their indices; only split or collapsed heads need divisions.
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("b", "n", 24), dtype="float32")) -> R.Tensor(("b", "n", 24), dtype="float32"):
        b = T.int64()
        n = T.int64()
        with R.dataflow():
            heads = R.reshape(x, R.shape([b, n, 2, 1, 12]))
            each = R.broadcast_to(heads, R.shape([b, n, 2, 3, 12]))
            joined = R.reshape(each, R.shape([b, n, 6, 12]))
            flat = R.reshape(joined, R.shape([b * n, 72]))
            back = R.reshape(heads, R.shape([b, n, 24]))
            R.output(flat, back)
        return back
