# opt: ExpandMatmulOfSum
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 8), "float32"), a: R.Tensor((8, 4), "float32"), b: R.Tensor((8, 4), "float32"), row: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            known = R.add(a, b)
            y = R.matmul(x, known)
            broadcast = R.add(x, R.const(1.0, "float32"))
            z = R.matmul(R.permute_dims(x), broadcast)
            out = (y, z)
            R.output(out)
        return out
