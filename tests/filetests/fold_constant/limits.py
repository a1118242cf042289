# opt: FoldConstant{max_created=4096,max_growth=65536}
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main():
        with R.dataflow():
            a = R.zeros((2048,), "float32")
            b = R.zeros((8192,), "float32")
            c = R.broadcast_to(R.const([1, 2], "float32"), (65536, 2))
            d = R.sum(c)
            e = R.sum(a)
            R.output(b, d, e)
        return (b, d, e)
