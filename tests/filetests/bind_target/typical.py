# opt: tirx.BindTarget{target="llvm -mcpu=x86-64-v3"}
# Public and private kernels; one has a target already.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        Module.inner(A.data)

    @T.prim_func(private=True)
    def inner(a: T.handle("float32")):
        T.evaluate(0)

    @T.prim_func(private=True)
    def alone(A: T.Buffer((8,), "float32")):
        A[0] = T.float32(0)

    @T.prim_func
    def own(A: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("c")})
        A[0] = T.float32(0)
