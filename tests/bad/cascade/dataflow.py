from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")):
        with R.dataflow():
            y = R.matmul(w, x)
            z = R.add(y, x)
            s = R.sum(z, keepdim=True)
            R.output(s)
        r = R.reshape(s, shapes=(1,))
        return r
