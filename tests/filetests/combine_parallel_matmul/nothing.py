# opt: CombineParallelMatmul
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), row: R.Tensor((1,), "float32"), h: R.Tensor((4, 4), "float16")):
        with R.dataflow():
            y = R.matmul(x, w)
            depends = R.nn.relu(y)
            z = R.matmul(x, depends)
            other = R.matmul(w, x)
            out = (y, z, other)
            R.output(out)
        return out
