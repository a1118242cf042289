# opt: CombineParallelMatmul{known_weights=true}
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32"), v: R.Tensor((2, 2), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.matmul(x, R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))
            b = R.add(R.const([1.0, 2.0], "float32"), a)
            c = R.matmul(x, R.const([[5.0, 6.0], [7.0, 8.0]], "float32"))
            d = R.add(c, R.const([3.0, 4.0], "float32"))
            e = R.matmul(x, w)
            f = R.matmul(x, v)
            out = (b, d, e, f)
            R.output(out)
        return out
