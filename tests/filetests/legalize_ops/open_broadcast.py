# opt: LegalizeOps
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # A sum of unknown shape gets the shape of its kernel.
    @R.function
    def main(x: R.Tensor((4, 3), "float32"), y: R.Tensor(("a", "b"), "float32")) -> R.Tensor(dtype="float32", ndim=2):
        m = T.int64()
        n = T.int64()
        with R.dataflow():
            sum: R.Tensor(dtype="float32", ndim=2) = R.add(x, y)
            known: R.Tensor((m, n), "float32") = R.match_cast(sum, R.Tensor((m, n), "float32"))
            R.output(known)
        return known
