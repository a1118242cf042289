# opt: TopologicalSort
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((4,), "float32")):
        b = R.exp(a)
        c = R.exp(b)
        return c
