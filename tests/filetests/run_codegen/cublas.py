# opt: FuseOpsByPattern{patterns=[["cublas.matmul_bias", "R.add(R.matmul(_, R.permute_dims(_)), _)"], ["cublas.matmul", "R.matmul(_, _)"]],bind_constants=false,annotate_codegen=true},RunCodegen
# A transpose that is used twice, a bias for each row and integers stay as they are.
n = TypeVar("n")

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 8), "float32"), w: R.Tensor((4, 8), "float32"), b: R.Tensor((4,), "float32"), rows: R.Tensor((n, 1), "float32"), i: R.Tensor((2, 2), "int32")):
        with R.dataflow():
            biased = R.add(R.matmul(x, R.permute_dims(w)), b)
            turned = R.permute_dims(x)
            shared = R.matmul(turned, biased)
            by_rows = R.add(R.matmul(biased, R.permute_dims(R.nn.relu(w), axes=[0, 1])), rows)
            integers = R.matmul(i, i)
            result = (turned, shared, by_rows, integers)
            R.output(result)
        return result
