# opt: FuseOpsByPattern{patterns=[["toy.relu", "R.nn.relu(_)"]],annotate_codegen=true},RunCodegen
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.nn.relu(x)
        R.output(y)
    return y
