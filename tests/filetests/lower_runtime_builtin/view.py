# opt: RemovePurityChecking,LowerRuntimeBuiltin
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), dtype="float32")):
        a = R.memory.view(x, R.shape([3, 4]), R.tuple(), R.tuple())
        b = R.memory.view(a, R.tuple(), R.dtype("int32"), R.tuple())
        c = R.memory.view(b, R.shape([3]), None, 16)
        d = R.memory.view(b, R.shape([2]), R.tuple(), R.prim_value(16))
        return (a, b, c, d)
