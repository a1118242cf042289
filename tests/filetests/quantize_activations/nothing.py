# opt: QuantizeActivations
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 32), "float32"), w: R.Tensor((32, 2), "int8"), s: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.matmul(x, R.multiply(R.astype(w, "float32"), s))
            R.output(a)
        return a
