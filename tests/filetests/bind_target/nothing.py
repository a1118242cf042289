# opt: BindTarget
# The kernel has a target already.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def alone(A: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("c")})
        A[0] = T.float32(0)
