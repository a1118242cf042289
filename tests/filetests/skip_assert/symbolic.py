# opt: tirx.SkipAssert
# The check of a size is removed.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        assert n % 4 == 0, "whole groups"
        for i in range(n // 4 * 4):
            A[i] = T.float32(0)
