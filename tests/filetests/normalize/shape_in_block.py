# opt: Normalize
from tvm.script import ir as I
from tvm.script import relax as R

# The shape of `y` is a variable that is not known outside its block.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), t: R.Tensor((2,), "int64")):
        with R.dataflow():
            s = R.tensor_to_shape(t)
            y: R.Tensor(s, "float32") = R.reshape(x, s)
            R.output(y)
        return (y, x)
