# opt: AnnotateTIROpPattern
# An existing annotation is preserved; a function without blocks is opaque.
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def stated(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 8})
        for i in range(8):
            with T.sblock("y"):
                vi = T.axis.spatial(8, i)
                y[vi] = x[vi]

    @T.prim_func(private=True)
    def loops(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        for i in range(8):
            y[i] = x[i]
