from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main():
        infinite = R.const("inf", "float32")
        nothing = R.const("nan", "float64")
        tenth = R.const(0.1, "float32")
        most = R.const(255, "uint8")
        yes = R.const(True, "bool")
        return (infinite, nothing, tenth, most, yes)
