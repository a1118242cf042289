# opt: FuseOpsByPattern{patterns=[["toy.add", "R.add(_, _)"]],annotate_codegen=true},RunCodegen{codegens={"toy":"tests/codegen/toy.sh"}}
@R.function
def main(x: R.Tensor(ndim=1, dtype="float32"), y: R.Tensor(ndim=1, dtype="float32")):
    with R.dataflow():
        z = R.add(x, y)
        R.output(z)
    return z
