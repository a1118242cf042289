# stages: drop-unread-values
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 16), "float32")):
        with R.dataflow():
            y = R.argmax(x, axis=1)
            R.output(y)
        return y
