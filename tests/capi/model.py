# Model of the C and C++ programs beside this file.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), y: R.Tensor((2, 3), dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tuple(R.Tensor((2, 3), dtype="float32"))):
        with R.dataflow():
            sum = R.add(x, y)
            product = R.multiply(x, y)
            out = (sum, (product,))
            R.output(out)
        return out

    @R.function(pure=False)
    def ask(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        y = R.call_packed("capi.twice", x, ty_args=(R.Tensor((2, 3), dtype="float32"),))
        z = R.add(y, x)
        return z

    @R.function(pure=False)
    def forever(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Module
        y = R.call_packed("capi.twice", x, ty_args=(R.Tensor((2, 3), dtype="float32"),))
        z: R.Tensor((2, 3), dtype="float32") = cls.forever(y)
        return z

    @R.function
    def large(x: R.Tensor((512, 512), dtype="float32")) -> R.Tensor((512, 512), dtype="float32"):
        y = R.tanh(x)
        return y
