# opt: AllocateWorkspace
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # Both get a workspace of the maximum size; other functions allocate none.
    @R.function
    def large(q: R.Tensor((8,), dtype="float16")) -> R.Tensor((8,), dtype="float16"):
        R.func_attr({"Codegen": "cutlass", "WorkspaceSize": 65536})
        @R.function
        def gv(q_1: R.Tensor((8,), dtype="float16")) -> R.Tensor((8,), dtype="float16"):
            R.func_attr({"Composite": "cutlass.attention", "Primitive": True, "WorkspaceSize": 65536})
            with R.dataflow():
                gv_2 = R.exp(q_1)
                R.output(gv_2)
            return gv_2
        gv1: R.Tensor((8,), dtype="float16") = gv(q)
        return gv1

    @R.function
    def small(q: R.Tensor((8,), dtype="float16")) -> R.Tensor((8,), dtype="float16"):
        R.func_attr({"Codegen": "cutlass", "WorkspaceSize": 16})
        gv = R.exp(q)
        return gv

    @R.function
    def one(q: R.Tensor((8,), dtype="float16")) -> R.Tensor((8,), dtype="float16"):
        cls = Module
        with R.dataflow():
            a = cls.large(q)
            b = cls.small(a)
            R.output(b)
        return b

    @R.function
    def branch(q: R.Tensor((8,), dtype="float16"), c: R.Tensor((), dtype="bool")) -> R.Tensor((8,), dtype="float16"):
        cls = Module
        if c:
            r = cls.large(q)
        else:
            r = cls.small(q)
        return r

    @R.function
    def other(q: R.Tensor((8,), dtype="float16")) -> R.Tensor((8,), dtype="float16"):
        with R.dataflow():
            a = R.exp(q)
            R.output(a)
        return a
