# opt: FuseOpsByPattern{patterns=[["x.relu6", "R.clip(R.add(_, is_const()), 0, 6)"]],bind_constants=false,entry_functions=["main"]}
# Constants are passed as arguments; a scalar is part of the group.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            moved = R.add(x, R.const(1.5, "float32"))
            y = R.clip(moved, 0, 6)
            z = R.clip(moved, 0, 7)
            R.output(y, z)
        return (y, z)

    @R.function
    def other(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            moved = R.add(x, R.const(1.5, "float32"))
            y = R.clip(moved, 0, 6)
            R.output(y)
        return y
