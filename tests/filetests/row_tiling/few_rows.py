# stages: row-tiling
# Eight rows are one tile. They share a matrix that exceeds the cache, whose columns are parallel instead.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 256), "float32"), w: R.Tensor((256, 1024), "float32"), v: R.Tensor((8, 512), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.strided_slice(a, axes=[1], begin=[0], end=[512])
            c = R.strided_slice(a, axes=[1], begin=[512], end=[1024])
            d = R.multiply(R.sigmoid(b), R.tanh(c))
            y = R.add(d, v)
            R.output(y)
        return y
