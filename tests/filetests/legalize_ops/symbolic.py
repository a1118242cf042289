# opt: LegalizeOps
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    # Equal functions are shared; a variable that no buffer shape defines is passed as a scalar.
    @R.function
    def main(x: R.Tensor((n, 8), dtype="float32"), w: R.Tensor((8, 4), dtype="float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.add(a, R.const(1.0, "float32"))
            c = R.add(b, R.const(1.0, "float32"))
            d = R.reshape(c, R.shape([n * 2, 2]))
            e = R.nn.relu(d)
            R.output(e)
        return e
