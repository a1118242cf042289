# opt: FuseOpsByPattern{patterns="tests/codegen/toy.patterns",annotate_codegen=true},RunCodegen{codegens={"toy":"tests/codegen/toy.sh"},target_options={"toy":{"factor":2}}}
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 3), "float32"), y: R.Tensor((4, 3), "float32")):
        with R.dataflow():
            twice = R.multiply(x, R.const(2, "float32"))
            first = R.add(y, twice)
            again = R.multiply(first, R.const(2, "float32"))
            second = R.add(x, again)
            R.output(second)
        return second
