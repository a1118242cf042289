# opt: FuseOpsByPattern{patterns=[["toy.pair", "R.add(R.nn.relu(_), _)"]],annotate_codegen=true},RunCodegen{codegens={"toy":"tests/codegen/toy.sh"}}
# Both results are written to memory of the caller.
@R.function
def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.nn.relu(x)
        b = R.add(a, y)
        R.output(a, b)
    return (a, b)
